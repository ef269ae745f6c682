import { createPublicKey, hash, verify } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { CsvError, parse } from 'csv-parse/sync'
import { fromBufferPromise } from 'yauzl'
import { Statement } from '../contract/control/statements.ts'
import { Failure } from '../errors.ts'
import { cellText } from '../web/csv.ts'

/** The last statement of one connection in a pack, with the people behind it. */
export type PackedStatement = {
  readonly statement: Statement
  /** By the digest of the key. The key is null for a person who was forgotten. */
  readonly exported: ReadonlyMap<string, string | null>
  /** Where a key that HR states is; undefined: it is not in the table of everybody. */
  readonly personOf: (key: string) => PackedPerson | undefined
  /** What is wrong with the files of the pack, a sentence each. */
  readonly faults: readonly string[]
}

/** A line of the table of everybody. */
export type PackedPerson = { readonly part: string; readonly detail: string }

/** Reads a pack. `connection` may be left out if the pack has one only. */
export async function readPack(path: string, connection: string | undefined): Promise<PackedStatement> {
  const files = await unzip(path)
  const textOf = (name: string) => files.get(name)?.toString('utf8') ?? ''
  const faults = faultsOf(files)
  const statement = endStatement([...files.keys()].filter(isEndStatement).map(textOf), { path, connection, faults })
  const folder = `population/${encodeURIComponent(statement.connection)}`
  const people = peopleByCell(textOf(`${folder}/accounted-end.csv`))
  return {
    statement,
    exported: exportedKeys(textOf(`${folder}/export-end.txt`)),
    personOf: (key) => people.get(cellText(key)),
    faults,
  }
}

async function unzip(path: string): Promise<ReadonlyMap<string, Buffer>> {
  try {
    const zip = await fromBufferPromise(await readFile(path), { lazyEntries: true })
    const files = new Map<string, Buffer>()
    for await (const entry of zip.eachEntry())
      files.set(entry.fileName, await buffer(await zip.openReadStreamPromise(entry)))
    return files
  } catch (error) {
    throw new Failure('usage', `${path} is no pack that can be read: "rollcall report leavers --pack" writes one`, {
      cause: error,
    })
  }
}

function isEndStatement(name: string): boolean {
  return name.endsWith('/statement-end.json')
}

type Choice = {
  readonly path: string
  readonly connection: string | undefined
  readonly faults: readonly string[]
}

function endStatement(texts: readonly string[], { path, connection, faults }: Choice): Statement {
  const all = texts.flatMap((text) => {
    const parsed = Statement.nullable().safeParse(parsedJson(text))
    return parsed.success && parsed.data ? [parsed.data] : []
  })
  const [statement, ...others] = all.filter((one) => connection === undefined || one.connection === connection)
  if (statement === undefined && faults.length > 0)
    throw new Failure('usage', `${path} was changed: ${faults.join('; ')}`)
  if (statement === undefined)
    throw new Failure('usage', `${path} has no statement${connection === undefined ? '' : ` of "${connection}"`}`)
  if (others.length === 0) return statement
  const names = all.map((one) => one.connection).join(', ')
  throw new Failure('usage', `${path} has several connections: name one of ${names} with --connection`)
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function exportedKeys(text: string): ReadonlyMap<string, string | null> {
  // Of a key with a line end, only the first line is kept: the digest is what counts.
  const lines = text.matchAll(/^([0-9a-f]{64})(?: (.*))?$/gm)
  return new Map([...lines].map(([, digest = '', key]) => [digest, key ?? null]))
}

/** Everybody whom HR states, by the text of the cell with their key; nobody if the table is damaged, which its sum shows. */
function peopleByCell(table: string): ReadonlyMap<string, PackedPerson> {
  const rows = parsedTable(table)
  const stated = rows.filter(({ statedByHr }) => statedByHr === 'true')
  return new Map(stated.map(({ identityId = '', part = '', detail = '' }) => [identityId, { part, detail }]))
}

function parsedTable(table: string): readonly Readonly<Record<string, string>>[] {
  try {
    return parse(table, { columns: true, skipEmptyLines: true, relaxColumnCount: true, relaxQuotes: true })
  } catch (error) {
    if (error instanceof CsvError) return []
    throw error
  }
}

/** Compares the files with the list of their sums, and the list with its signature. */
function faultsOf(files: ReadonlyMap<string, Buffer>): string[] {
  const manifest = files.get('MANIFEST') ?? Buffer.alloc(0)
  const listed = manifest.toString('utf8').matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)
  const sums = new Map([...listed].map(([, sum = '', name = '']) => [name, sum]))
  const others = [...files.keys()].filter((name) => !sums.has(name) && !name.startsWith('MANIFEST'))
  return [
    ...(isSigned(manifest, files) ? [] : ['MANIFEST is not as it was signed']),
    ...[...sums].flatMap(([name, sum]) =>
      hash('sha256', files.get(name) ?? '') === sum ? [] : [`${name} is not as it was signed`],
    ),
    ...others.map((name) => `${name} was added`),
  ]
}

function isSigned(manifest: Buffer, files: ReadonlyMap<string, Buffer>): boolean {
  try {
    const key = createPublicKey(files.get('public-key.pem')?.toString('utf8') ?? '')
    return verify(null, manifest, key, files.get('MANIFEST.sig') ?? Buffer.alloc(0))
  } catch {
    // A damaged key is no key.
    return false
  }
}
