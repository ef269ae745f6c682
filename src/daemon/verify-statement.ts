import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Reading } from '../connectors/connector.ts'
import { openExport } from '../connectors/export/open-export.ts'
import { withExpressions } from '../connectors/expressions/expressions.ts'
import { exportFileAt } from '../connectors/file/export-file.ts'
import { ExportFormat } from '../connectors/file/format.ts'
import { requireConnectorKind } from '../connectors/registry/registry.ts'
import { accountedDetails, type Statement } from '../contract/control/statements.ts'
import { Failure } from '../errors.ts'
import { dateIn } from '../identity/decide/decide.ts'
import { leavingIn } from '../identity/decide/departure.ts'
import { startsAfterLeaving } from '../identity/employment.ts'
import { expressionsOf } from '../identity/mapping/mapping.ts'
import { isReject } from '../identity/mapping/rows.ts'
import type { Observation } from '../identity/record.ts'
import { type MappedRow, mapRows } from '../sync/plan/map/map-rows.ts'
import type { Config, SourceConfig } from './config/config.ts'
import { type PackedPerson, type PackedStatement, readPack } from './read-pack.ts'

/** How many keys of each kind a comparison names. */
const keysNamed = 20

/** A figure as it is in a statement, and as it is when the export is read again; null: the statement does not hold it. */
type FigurePair<T> = { readonly inStatement: T | null; readonly inExport: T }

/** A statement of a pack compared with what HR's export says when it is read again. */
export type StatementComparison = {
  readonly connection: string
  /** Nothing differs. */
  readonly matches: boolean
  /** What is wrong with the files of the pack, a sentence each. */
  readonly faults: readonly string[]
  /** The SHA-256 of the file. */
  readonly file: FigurePair<string>
  readonly rows: FigurePair<number>
  /** The SHA-256 of the sorted digests of the keys, each with a line end. */
  readonly keys: FigurePair<string>
  /** Keys that only the export has, and keys, or digests of keys, that only the statement has: the first of each. */
  readonly onlyInExport: readonly string[]
  readonly onlyInStatement: readonly string[]
  /** People whom the export has as left and the statement as employed, or the other way round: the first of them. */
  readonly differing: readonly string[]
}

type VerifyInput = {
  readonly exportPath: string
  readonly packPath: string
  readonly connection: string | undefined
  readonly signal: AbortSignal
}

/** Reads HR's export of a night again, by the rules of its connection, and compares it with the last statement of a pack. */
export async function verifyStatement(
  config: Pick<Config, 'connections'>,
  { exportPath, packPath, connection, signal }: VerifyInput,
): Promise<StatementComparison> {
  const pack = await readPack(packPath, connection)
  const { statement, faults } = pack
  const source = requireTextExport(config, statement)
  const reread = await readAgain(source, { exportPath, statement, signal })
  const comparison = {
    connection: statement.connection,
    faults: faults.slice(0, keysNamed),
    file: { inStatement: statement.export?.sha256 ?? null, inExport: reread.sha256 },
    rows: { inStatement: statement.rows?.delivered ?? null, inExport: reread.rows },
    ...compareKeys(pack, reread),
  }
  const { file, rows, keys, onlyInExport, onlyInStatement, differing } = comparison
  const lists = [faults, onlyInExport, onlyInStatement, differing]
  return {
    ...comparison,
    matches: [file, rows, keys].every(isSame) && lists.every((list) => list.length === 0),
  }
}

function isSame({ inStatement, inExport }: FigurePair<string | number>): boolean {
  return inStatement === null || inStatement === inExport
}

type KeyComparison = Pick<StatementComparison, 'keys' | 'onlyInExport' | 'onlyInStatement' | 'differing'>

function compareKeys({ statement, exported, personOf }: PackedStatement, { employment }: Reread): KeyComparison {
  const digests = new Map([...employment.keys()].map((key) => [digestOf(statement, key), key]))
  const lines = [...digests.keys()].sort().map((digest) => `${digest}\n`)
  const first = (keys: Iterable<string>) => [...keys].sort().slice(0, keysNamed)
  const differing = [...digests].flatMap(([digest, key]) => {
    const person = personOf(exported.get(digest) ?? `forgotten:${digest}`)
    return person && contradicts(person, employment.get(key) ?? null) ? [key] : []
  })
  return {
    keys: { inStatement: statement.export?.keys ?? null, inExport: hash('sha256', lines.join('')) },
    onlyInExport: first([...digests].flatMap(([digest, key]) => (exported.has(digest) ? [] : [key]))),
    onlyInStatement: first([...exported].flatMap(([digest, key]) => (digests.has(digest) ? [] : [key ?? digest]))),
    differing: first(differing),
  }
}

function digestOf(statement: Statement, key: string): string {
  return hash('sha256', `${statement.export?.installation}\n${statement.connection}\n${key}`)
}

/** What a row alone states of employment; null: that depends on what else is known of the person. */
type RowEmployment = 'employed' | 'left' | null

/** Whether a part contradicts the row. Other parts, and facts that are newer than the export, contradict nothing. */
function contradicts({ part, detail }: PackedPerson, employment: RowEmployment): boolean {
  if (employment === null || detail === accountedDetails.newer || detail === accountedDetails.hiredAgain) return false
  return employment === 'left' ? part === 'employed' || part === 'deferred' : part === 'left'
}

/** The source of a statement, if its export can be read again from a file. */
function requireTextExport({ connections }: Pick<Config, 'connections'>, statement: Statement): SourceConfig {
  const settings = connections.get(statement.connection)
  if (statement.export === null)
    throw new Failure(
      'usage',
      `the statement of "${statement.connection}" rests on no export: none was accepted until then`,
    )
  if (!settings) throw new Failure('usage', `the configuration has no connection "${statement.connection}"`)
  const { source, name } = settings
  const helps = 'the pack has the digests of its keys: HOW-TO-VERIFY.txt tells how to compare them'
  if (source === null || !requireConnectorKind(source.settings.type).isTextExport(source.settings))
    throw new Failure(
      'usage',
      `connection "${name}" reads no text files, so this command cannot read its list again; ${helps}`,
    )
  if (source.settings.mode === 'delta')
    throw new Failure('usage', `connection "${name}" reads changes, and one export is not everybody; ${helps}`)
  return source
}

type Reread = {
  readonly sha256: string
  readonly rows: number
  /** By key, as HR writes it. */
  readonly employment: ReadonlyMap<string, RowEmployment>
}

type RereadInput = { readonly exportPath: string; readonly statement: Statement; readonly signal: AbortSignal }

async function readAgain(source: SourceConfig, { exportPath, statement, signal }: RereadInput): Promise<Reread> {
  const file = await exportFileAt(resolve(exportPath))
  const settings = Object.entries(source.settings).filter(([setting]) => setting in ExportFormat.shape)
  const format = ExportFormat.parse(Object.fromEntries(settings))
  const opened = await openExport(file, format, { signal, secret: (path) => source.secrets.get(path) ?? null })
  const identity = { name: file.name, bytes: file.bytes, version: file.version }
  const asOf = statement.export?.asOf ?? statement.madeAt
  const raw: Reading = { ...opened, mode: 'snapshot', asOf, source: identity }
  const reading = withExpressions(raw, expressionsOf(source.mapping))
  const mapping = mapRows(reading, source, { now: new Date(asOf) })
  if (!mapping.ok) throw new Failure('source_unreadable', `${file.name} lacks columns that the mapping names`)
  const employment = new Map<string, RowEmployment>()
  let rows = 0
  for await (const slice of reading.rows) {
    rows += slice.length
    for (const row of slice) {
      const key = mapping.keyOf(row)
      if (key === null) continue
      const stated = statedByRow(mapping.map(row), { instants: [asOf, statement.madeAt], timeZone: source.timeZone })
      // Several rows of a person: which of them applies is decided with what is known of the person.
      employment.set(key, employment.has(key) ? null : stated)
    }
  }
  return { sha256: await opened.sha256(), rows, employment }
}

/** The run planned between these instants, in whose order a date may have come. */
type Moments = { readonly instants: readonly [asOf: string, madeAt: string]; readonly timeZone: string }

function statedByRow(mapped: MappedRow, { instants, timeZone }: Moments): RowEmployment {
  if (mapped === null || !('fields' in mapped) || isReject(mapped) || dependsOnOthers(mapped)) return null
  const leaves = instants.map((now) => {
    const today = dateIn(timeZone, now)
    return typeof leavingIn(mapped, { now, today }) === 'object'
  })
  if (leaves.every(Boolean)) return startsAfterLeaving(mapped) ? null : 'left'
  const isPositive = mapped.statesEmployed || mapped.leavingDate !== undefined
  return leaves.some(Boolean) || mapped.isUncertain || !isPositive ? null : 'employed'
}

/** Whether a row has a time or a day of its own, or deletes: other facts then decide whether it applies. */
function dependsOnOthers({ asOf, effectiveOn, action }: Observation): boolean {
  return asOf !== undefined || effectiveOn !== undefined || action === 'retract'
}
