import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fromBufferPromise } from 'yauzl'
import type { Reading } from '../connectors/connector.ts'
import { openExport } from '../connectors/export/open-export.ts'
import { withExpressions } from '../connectors/expressions/expressions.ts'
import { exportFileAt } from '../connectors/file/export-file.ts'
import { ExportFormat } from '../connectors/file/format.ts'
import { requireConnectorKind } from '../connectors/registry/registry.ts'
import { Statement } from '../contract/control/statements.ts'
import { Failure } from '../errors.ts'
import { compareKeys } from '../identity/digest.ts'
import { expressionsOf } from '../identity/mapping/mapping.ts'
import { isReject } from '../identity/mapping/rows.ts'
import { mapRows } from '../sync/plan/map/map-rows.ts'
import type { Config, ConnectionConfig } from './config/config.ts'

/** How many keys of each kind a comparison names. */
const keysNamed = 20

/** A statement of a pack compared with what HR's export says when it is read again. */
export type StatementComparison = {
  readonly connection: string
  readonly matches: boolean
  readonly rows: { readonly inStatement: number | null; readonly inExport: number }
  /** The SHA-256 of the sorted keys, each with a line end. */
  readonly keys: { readonly inStatement: string; readonly inExport: string }
  /** Keys of the export that the statement does not have, and the other way round: the first of each. */
  readonly missing: readonly string[]
  readonly unknown: readonly string[]
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
  config: Config,
  { exportPath, packPath, connection, signal }: VerifyInput,
): Promise<StatementComparison> {
  const files = await readPack(packPath)
  const statement = endStatement(files, packPath, connection)
  const settings = config.connections.get(statement.connection)
  if (!settings) throw new Failure('usage', `the configuration has no connection "${statement.connection}"`)
  const stated = await readStated(settings, { exportPath, asOf: statement.export?.asOf ?? '', signal })
  const folder = `population/${encodeURIComponent(statement.connection)}`
  const inPack = new Set((files.get(`${folder}/export-end.txt`) ?? '').split('\n').filter((key) => key !== ''))
  const parts = partsByKey(files.get(`${folder}/accounted-end.csv`) ?? '')
  const keys = [...stated.hasLeft.keys()].sort(compareKeys)
  const inExport = hash('sha256', keys.map((key) => `${key}\n`).join(''))
  const missing = keys.filter((key) => !inPack.has(key))
  const unknown = [...inPack].filter((key) => !stated.hasLeft.has(key))
  const differing = keys.filter((key) => isOtherwise(parts.get(key), stated.hasLeft.get(key) ?? null))
  const comparison = {
    rows: { inStatement: statement.rows?.delivered ?? null, inExport: stated.rows },
    keys: { inStatement: statement.export?.keys ?? '', inExport },
  }
  const { rows, keys: digests } = comparison
  const matches =
    rows.inStatement === rows.inExport &&
    digests.inStatement === digests.inExport &&
    missing.length + unknown.length + differing.length === 0
  const first = (all: readonly string[]) => all.slice(0, keysNamed)
  return {
    ...{ connection: statement.connection, matches, ...comparison },
    ...{ missing: first(missing), unknown: first(unknown), differing: first(differing) },
  }
}

/** Whether a part contradicts what the row says. Other parts say nothing of employment. */
function isOtherwise(part: string | undefined, hasLeft: boolean | null): boolean {
  if (hasLeft === null) return false
  return hasLeft ? part === 'employed' || part === 'deferred' : part === 'left'
}

async function readPack(path: string): Promise<ReadonlyMap<string, string>> {
  try {
    const zip = await fromBufferPromise(await readFile(path), { lazyEntries: true })
    const files = new Map<string, string>()
    for await (const entry of zip.eachEntry())
      files.set(entry.fileName, (await buffer(await zip.openReadStreamPromise(entry))).toString('utf8'))
    return files
  } catch (error) {
    throw new Failure('usage', `${path} is no pack that can be read: "rollcall report leavers --pack" writes one`, {
      cause: error,
    })
  }
}

function endStatement(files: ReadonlyMap<string, string>, path: string, connection: string | undefined): Statement {
  const all = [...files].flatMap(([name, content]) => {
    if (!name.endsWith('/statement-end.json')) return []
    const parsed = Statement.safeParse(JSON.parse(content))
    return parsed.success ? [parsed.data] : []
  })
  const named = all.filter((one) => connection === undefined || one.connection === connection)
  const [statement] = named
  if (statement && named.length === 1) return statement
  const names = all.map((one) => one.connection).join(', ')
  throw new Failure(
    'usage',
    statement
      ? `${path} has several connections: name one of ${names} with --connection`
      : `${path} has no statement of this connection`,
  )
}

type StatedPeople = {
  readonly rows: number
  /** By key, whether the last row that can be used says that the person has left; null: none can be used. */
  readonly hasLeft: ReadonlyMap<string, boolean | null>
}

type ExportInput = { readonly exportPath: string; readonly asOf: string; readonly signal: AbortSignal }

async function readStated(
  { name, source }: ConnectionConfig,
  { exportPath, asOf, signal }: ExportInput,
): Promise<StatedPeople> {
  if (source === null || !requireConnectorKind(source.settings.type).isTextExport(source.settings))
    throw new Failure('usage', `connection "${name}" reads no files, so there is no export to read again`)
  const file = await exportFileAt(resolve(exportPath))
  const settings = Object.entries(source.settings).filter(([setting]) => setting in ExportFormat.shape)
  const format = ExportFormat.parse(Object.fromEntries(settings))
  const opened = await openExport(file, format, { signal, secret: (path) => source.secrets.get(path) ?? null })
  const identity = { name: file.name, bytes: file.bytes, version: file.version }
  const raw: Reading = { ...opened, mode: 'snapshot', asOf, source: identity }
  const reading = withExpressions(raw, expressionsOf(source.mapping))
  const mapping = mapRows(reading, source, { now: new Date(asOf) })
  if (!mapping.ok) throw new Failure('source_unreadable', `${file.name} lacks columns that the mapping names`)
  const hasLeft = new Map<string, boolean | null>()
  let rows = 0
  for await (const slice of reading.rows) {
    rows += slice.length
    for (const row of slice) {
      const key = mapping.keyOf(row)
      if (key === null) continue
      const mapped = mapping.map(row)
      const isUsable = mapped !== null && 'fields' in mapped && !isReject(mapped)
      const leaves = isUsable && (mapped.statesDeparture || (mapped.leavingDate ?? '~') <= asOf.slice(0, 10))
      // Several rows of a person: which of them applies is decided with what is known of the person.
      hasLeft.set(key, isUsable && !hasLeft.has(key) ? leaves : null)
    }
  }
  return { rows, hasLeft }
}

/** The part of each key in the table of everybody. */
function partsByKey(table: string): ReadonlyMap<string, string> {
  const [header = '', ...lines] = table.split(/\r?\n/)
  const [at, statedAt] = [header.split(',').indexOf('part'), header.split(',').indexOf('statedByHr')]
  return new Map(
    lines.flatMap((line) => {
      const cells = line.split(',')
      return cells[statedAt] === 'true' ? [[(cells[0] ?? '').replaceAll(/^"|"$/g, ''), cells[at] ?? ''] as const] : []
    }),
  )
}
