import type { Reading, SourceRow } from '../../../connectors/connector.ts'
import { unreadable } from '../../../connectors/file/failures.ts'
import type { Failure } from '../../../errors.ts'
import { dateIn } from '../../../identity/decide/decide.ts'
import { watchHeaderBelow } from '../../../identity/lint/header-below.ts'
import { createLint, type Lint } from '../../../identity/lint/lint.ts'
import { watchNotPeople } from '../../../identity/lint/not-people.ts'
import { type RowTraits, rowTraits } from '../../../identity/lint/traits.ts'
import { indexesOf } from '../../../identity/lint/watch.ts'
import { invisibleIn } from '../../../identity/mapping/cells.ts'
import { type CompiledMapping, compileMapping } from '../../../identity/mapping/mapping.ts'
import type { Origin, Reject, Observation } from '../../../identity/record.ts'
import { type KeyAnswers, noAnswers, resolveAlias } from '../../../identity/key-change-candidates.ts'
import type { FeedRules } from '../../context/context.ts'

type Mapped = Extract<CompiledMapping, { readonly ok: true }>

/** A row that is about no person, such as one of totals. `identityId`: what stands where people have their key, if it could be one. */
type NoPerson = { readonly noPerson: true; readonly identityId: string | null }

/** A row that is not in scope. */
export type OutOfScope = { readonly outOfScope: true; readonly identityId: string | null; readonly origin: Origin }

/** What a row states. null: the row is ignored, because it is about something else. */
export type MappedRow = Observation | Reject | NoPerson | OutOfScope | null

/** The mapped rows of a reading that has every column it needs. */
export type ReadableRows = Extract<MappedRows, { readonly ok: true }>

/** A reading's rows as observations, looked over for what an operator should know. */
export type MappedRows =
  | (Pick<Mapped, 'ok' | 'columns' | 'mapped' | 'lacking' | 'parts'> & {
      readonly cellsOf: (row: SourceRow) => ReturnType<Mapped['cellsOf']>
      readonly map: (row: SourceRow) => MappedRow
      /** What the row that was mapped last is to the checks, if it need not be read again as long as it reads the same; null if it has to be. */
      readonly traitsOf: (row: SourceRow, observation: Observation) => RowTraits | null
      /** What the e-mail address of a observation is compared by; null: it has none. */
      readonly addressOf: (observation: Observation) => string | null
      /** Whether rows with these traits may be left out from here on. `knowsAddress`: where it is known what their addresses are compared by. */
      readonly spares: (traits: RowTraits, knowsAddress: boolean) => boolean
      /** Takes rows into account that were left out, of which the last stands in this line. */
      readonly spare: (times: ReadonlyMap<RowTraits, number>, lastLine: number) => void
      /** Whether rows that are left out are also to be named one by one, in their order among all others. */
      readonly wantsEach: Lint['needsOrder']
      readonly spareOne: Lint['addInOrder']
      /** Complete once every row was mapped. */
      readonly findings: () => string[]
    })
  | {
      readonly ok: false
      /** To be shown the rows, which may hold the header. */
      readonly see: (row: SourceRow) => void
      /** Why mapped columns are missing, a sentence each. */
      readonly missing: () => readonly string[]
    }

/** Binds the rules of a feed to what was opened of it. Rows are about the people whom their keys name. */
export function mapRows(
  reading: Reading,
  { mapping, traps, timeZone, shape }: FeedRules,
  {
    now,
    aliases = noAnswers.aliases,
    telling,
    addressOf = (email) => email,
    formerFields = [],
  }: {
    now: Date
    /** The mapped names that the last accepted export had, and parts of them. */
    formerFields?: readonly string[]
    aliases?: KeyAnswers['aliases']
    telling?: number
    addressOf?: ((email: string) => string) | undefined
  },
): MappedRows {
  const { headers, mode, sparse = false } = reading
  const missingIsBlank = reading.missingIsBlank ? { formerFields } : undefined
  const faultOf = shape && { faultOf: shape.faultOf }
  const compiled = compileMapping(mapping, headers, { sparse, missingIsBlank, timeZone, ...faultOf })
  if (!compiled.ok) {
    const { missing } = compiled
    const { addRow: see, reasons } = watchHeaderBelow(mapping, { headers, missing })
    return { ok: false, see, missing: reasons }
  }
  const { columns, mapped, lacking, parts } = compiled
  const wholeRow = (row: SourceRow) => (missingIsBlank ? withBlanks(row, headers.length) : row)
  const exportDate = dateIn(timeZone, now.toISOString())
  const lint = createLint({
    mode,
    headers,
    columns,
    dateRules: mapping.fields,
    exportDate,
    traps,
    sampleSize: telling,
    addressOf,
  })
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
    map(read) {
      const row = wholeRow(read)
      if (notPeople?.isReorderedHeader(row)) throw reorderedHeader(row.origin)
      if (compiled.isIgnored(row)) return null
      const told = resolveAlias(compiled.map(row), aliases)
      if (notPeople?.isNotAPerson(row)) return { noPerson: true, identityId: told.identityId }
      const scope = compiled.scopeOf(row, told)
      if (scope === false) return { outOfScope: true, identityId: told.identityId, origin: row.origin }
      if (scope !== true) return scope
      lint.addRow(row, told)
      return told
    },
    traitsOf(row, observation) {
      const isKeyOdd = keyCells.some((index) => invisibleIn(row.values[index] ?? '').length > 0)
      return isKeyOdd || notPeople?.isLikeTotals() ? null : rowTraits(observation)
    },
    addressOf: ({ fields: { email } }) => (typeof email === 'string' ? addressOf(email) : null),
    spares: lint.areTraitsEnough,
    spare(times, lastLine) {
      notPeople?.addPeopleUntil(lastLine)
      for (const [traits, count] of times) lint.addByTraits(traits, count)
    },
    wantsEach: lint.needsOrder,
    spareOne: lint.addInOrder,
    findings: () => [...(notPeople?.findings() ?? []), ...lint.findings().map(({ message }) => message)],
  }
}

/** A record with a blank for each member that it lacks. What it holds as an object or a list stays unread, as do results of expressions. */
function withBlanks(row: SourceRow, width: number): SourceRow {
  const { nonTextColumns: groups = [] } = row
  const values = row.values.map((cell, at) => cell ?? (at >= width || groups.includes(at) ? undefined : ''))
  return { ...row, values }
}

function reorderedHeader(origin: Origin): Failure {
  const place = 'file' in origin ? `${origin.file}:${origin.line}` : `line ${origin.line}`
  return unreadable(
    `${place}: this line names the columns again, in another order than the header`,
    'have the parts exported one by one; if the line belongs to the header, write linesAfterHeader',
  )
}
