import type { Reading, SourceRow } from '../../../connectors/connector.ts'
import { unreadable } from '../../../connectors/file/failures.ts'
import type { Failure } from '../../../errors.ts'
import { dateIn } from '../../../identity/decide/decide.ts'
import { type KeyAnswers, noAnswers, resolveAlias } from '../../../identity/key-change-candidates.ts'
import { watchHeaderBelow } from '../../../identity/lint/header-below.ts'
import { createLint, type Lint } from '../../../identity/lint/lint.ts'
import { watchNotPeople } from '../../../identity/lint/not-people.ts'
import { type RowTraits, rowTraits } from '../../../identity/lint/traits.ts'
import { indexesOf } from '../../../identity/lint/watch.ts'
import { invisibleIn } from '../../../identity/mapping/cells.ts'
import { type CompiledMapping, compileMapping } from '../../../identity/mapping/mapping.ts'
import type { Observation, Origin, Reject } from '../../../identity/record.ts'
import type { FeedRules } from '../../context/context.ts'
import { columnLabels } from './column-labels.ts'

type ValidMapping = Extract<CompiledMapping, { readonly ok: true }>

/** A row that is not about a person, such as totals. `identityId`: the value of the key column, if it could be a key. */
type NoPerson = { readonly noPerson: true; readonly identityId: string | null }

/** A row that is not in scope. */
export type OutOfScope = { readonly outOfScope: true; readonly identityId: string | null; readonly origin: Origin }

/** What a row states. null: the row is ignored, because it is about something else. */
export type MappedRow = Observation | Reject | NoPerson | OutOfScope | null

/** The mapped rows of a reading that has every column it needs. */
export type ReadableRows = Extract<MappedRows, { readonly ok: true }>

/** Maps the rows of a reading to observations, and checks them for what an operator should know. */
export type MappedRows =
  | (Pick<ValidMapping, 'ok' | 'columns' | 'mapped' | 'lacking' | 'parts'> & {
      readonly cellsOf: (row: SourceRow) => ReturnType<ValidMapping['cellsOf']>
      /** The key that a row states, as HR writes it; null if it states none that can be read. */
      readonly keyOf: (row: SourceRow) => string | null
      readonly map: (row: SourceRow) => MappedRow
      /** The traits of the row that was mapped last; null if it has to be parsed next time even if it is unchanged. */
      readonly traitsOf: (row: SourceRow, observation: Observation) => RowTraits | null
      /** The comparable form of the e-mail address of an observation; null if it has none. */
      readonly addressOf: (observation: Observation) => string | null
      /** Whether unchanged rows with these traits may be skipped from now on. `knowsAddress`: their comparable addresses are known. */
      readonly canSkip: (traits: RowTraits, knowsAddress: boolean) => boolean
      /** Adds unchanged rows that were skipped. The last of them is in this line. */
      readonly addUnchanged: (counts: ReadonlyMap<RowTraits, number>, lastLine: number) => void
      /** Whether a check also needs the unchanged rows one by one, in their order among all rows. */
      readonly needsUnchangedInOrder: Lint['needsOrder']
      readonly addUnchangedInOrder: Lint['addInOrder']
      /** Complete once every row was mapped. */
      readonly findings: () => string[]
    })
  | {
      readonly ok: false
      /** Takes the rows, because one of them may be the header. */
      readonly addRow: (row: SourceRow) => void
      /** Why mapped columns are missing, a sentence each. */
      readonly missing: () => readonly string[]
    }

type MapOptions = {
  readonly now: Date
  /** The mapped names that the last accepted export had, and its `parts` (see `CompiledMapping`). */
  readonly formerFields?: readonly string[]
  readonly aliases?: KeyAnswers['aliases']
  /** How many people the checks look at. */
  readonly sampleSize?: number | undefined
  readonly addressOf?: ((email: string) => string) | undefined
}

/** Binds the rules of a feed to an opened reading. Rows are about the people whom their keys name. */
export function mapRows(reading: Reading, rules: FeedRules, options: MapOptions): MappedRows {
  const { headers, sparse = false, partialDetails = [] } = reading
  const { mapping, timeZone, shape } = rules
  const missingIsBlank = reading.missingIsBlank ? { formerFields: options.formerFields ?? [] } : undefined
  const faultOf = shape && { faultOf: shape.faultOf }
  const compiled = compileMapping(mapping, headers, { sparse, missingIsBlank, partialDetails, timeZone, ...faultOf })
  if (compiled.ok) return readableRows(reading, rules, compiled, options)
  const { missing } = compiled
  const { addRow, reasons } = watchHeaderBelow(mapping, { headers, missing })
  return { ok: false, addRow, missing: reasons }
}

function readableRows(
  { headers, mode, sparse = false, missingIsBlank, columnLabels: labels }: Reading,
  { mapping, traps, timeZone }: FeedRules,
  compiled: ValidMapping,
  { now, aliases = noAnswers.aliases, sampleSize, addressOf = (email) => email }: MapOptions,
): ReadableRows {
  const { columns, mapped, lacking, parts } = compiled
  const labelled = columnLabels(headers, labels)
  const wholeRow = (row: SourceRow) => (missingIsBlank ? withBlanks(row, headers.length) : row)
  const exportDate = dateIn(timeZone, now.toISOString())
  const dateRules = mapping.fields
  const lint = createLint({ mode, headers, columns, dateRules, exportDate, traps, sampleSize, addressOf })
  const keyCells = columns.identityId === undefined ? [] : indexesOf(columns.identityId, headers)
  // Records have no header and no totals.
  const notPeople = sparse ? null : watchNotPeople({ headers, columns, mapping })
  return {
    ok: true,
    columns,
    mapped,
    lacking,
    parts,
    cellsOf: (row) => compiled.cellsOf(wholeRow(row)),
    keyOf: (row) => compiled.keyOf(wholeRow(row)),
    map(read) {
      const row = wholeRow(read)
      if (notPeople?.isReorderedHeader(row)) throw reorderedHeader(row.origin)
      if (compiled.isIgnored(row)) return null
      const person = resolveAlias(compiled.map(row), aliases)
      if (notPeople?.isNotAPerson(row)) return { noPerson: true, identityId: person.identityId }
      const scope = compiled.scopeOf(row, person)
      if (scope === false) return { outOfScope: true, identityId: person.identityId, origin: row.origin }
      if (scope !== true) return labelled(scope)
      lint.addRow(row, person)
      return labelled(withGroup(person, compiled.groupOf(row)))
    },
    traitsOf(row, observation) {
      const isKeyOdd = keyCells.some((index) => invisibleIn(row.values[index] ?? '').length > 0)
      return isKeyOdd || notPeople?.isLikeTotals() ? null : rowTraits(observation)
    },
    addressOf: ({ fields: { email } }) => (typeof email === 'string' ? addressOf(email) : null),
    canSkip: lint.areTraitsEnough,
    addUnchanged(counts, lastLine) {
      notPeople?.addPeopleUntil(lastLine)
      for (const [traits, count] of counts) lint.addByTraits(traits, count)
    },
    needsUnchangedInOrder: lint.needsOrder,
    addUnchangedInOrder: lint.addInOrder,
    findings: () => [...(notPeople?.findings() ?? []), ...lint.findings().map(({ message }) => message)],
  }
}

function withGroup(person: Observation | Reject, group: string | null | undefined): Observation | Reject {
  return group === undefined || 'reason' in person ? person : { ...person, group }
}

/** A record with a blank for each missing member. Columns with an object or a list, and results of expressions, stay as they are. */
function withBlanks(row: SourceRow, width: number): SourceRow {
  const { nonTextColumns: groups = [] } = row
  const values = row.values.map((cell, at) => cell ?? (at >= width || groups.includes(at) ? undefined : ''))
  return { ...row, values }
}

function reorderedHeader(origin: Origin): Failure {
  const location = 'file' in origin ? `${origin.file}:${origin.line}` : `line ${origin.line}`
  return unreadable(
    `${location}: this line names the columns again, in another order than the header`,
    'have the parts exported one by one; if the line belongs to the header, write linesAfterHeader',
  )
}
