import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { PieceLimits } from '../../database/rows-by-size.ts'
import { errorCode, Failure } from '../../errors.ts'
import { backupBytes } from './bytes.ts'
import { BackupEnd, BackupHeader, type BackupLine, BackupTable, backupFormat } from './format.ts'

/** The size of a backup, and the digest of its content. */
export type BackupSize = { readonly rows: number; readonly people: number; readonly sha256: string }

/** Limits of one insert statement of a restore; a longer row has a statement of its own. */
const atOnce: Required<PieceLimits> = { maxRows: 1000, maxBytes: 2 * 1024 * 1024 }

/** Writes the lines of `dump` as a backup. */
export async function writeBackup(
  sink: NodeJS.WritableStream,
  dump: (take: (line: BackupLine) => Promise<void>) => Promise<void>,
): Promise<BackupSize> {
  const plain = new PassThrough()
  const written = pipeline(plain, createGzip(), sink)
  const hash = createHash('sha256')
  let rows = 0
  let people = 0
  let table = ''

  const write = async (text: string): Promise<void> => {
    hash.update(text)
    // If the sink fails, the pipeline throws its error.
    if (!plain.write(text)) await Promise.race([once(plain, 'drain'), written])
  }
  const dumped = async (): Promise<BackupSize> => {
    await dump(async (line) => {
      if (line.kind === 'rows') {
        rows += line.rows.length
        if (table === 'roster') people += line.rows.length
        await write(`${line.rows.join('\n')}\n`)
      } else {
        if (line.kind === 'table') table = line.table.table
        await write(`${JSON.stringify(line.kind === 'header' ? line.header : line.table)}\n`)
      }
    })
    const size = { rows, people, sha256: hash.digest('hex') }
    plain.end(`${JSON.stringify({ end: size } satisfies BackupEnd)}\n`)
    return size
  }
  try {
    const [size] = await Promise.all([dumped(), written])
    return size
  } catch (error) {
    plain.destroy()
    await written.catch(() => undefined)
    throw error
  }
}

/**
 * Reads a backup to its end. Fails with `source_unreadable` if it is not a backup, was cut, or is
 * damaged, and with `config_invalid` if a newer version wrote it.
 */
export async function* readBackup(file: string, pieces = atOnce): AsyncGenerator<BackupLine, BackupSize> {
  const plain = createGunzip()
  const unzipped = pipeline(backupBytes(file), plain).catch((error: unknown) => plain.destroy(asError(error)))
  try {
    return yield* parseLines(file, linesOf(plain.setEncoding('utf8')), pieces)
  } catch (error) {
    throw error instanceof Failure ? error : unreadableFailure(file, error)
  } finally {
    plain.destroy()
    await unzipped
  }
}

/** Reads a backup to check it: returns its header and its size. */
export async function checkBackup(file: string): Promise<{ readonly header: BackupHeader; readonly size: BackupSize }> {
  const lines = readBackup(file)
  let header: BackupHeader | null = null
  for (;;) {
    const { value, done } = await lines.next()
    if (done) {
      if (header) return { header, size: value }
      throw new Failure('source_unreadable', `${file} is no backup of Rollcall`)
    }
    if (value.kind === 'header') header = value.header
  }
}

async function* parseLines(
  file: string,
  lines: AsyncIterable<string>,
  { maxRows, maxBytes }: Required<PieceLimits>,
): AsyncGenerator<BackupLine, BackupSize> {
  const hash = createHash('sha256')
  const rows: string[] = []
  let length = 0
  let count = 0
  let isFirst = true
  let end: BackupEnd['end'] | null = null
  for await (const line of lines) {
    if (end !== null) throw new Failure('source_unreadable', `${file} is damaged: something follows its end`)
    if (isFirst) {
      isFirst = false
      yield { kind: 'header', header: headerOf(file, line) }
    } else if (line.startsWith('[')) {
      const isFull = rows.length >= maxRows || length + line.length > maxBytes
      if (isFull && rows.length > 0) {
        yield { kind: 'rows', rows: rows.splice(0) }
        length = 0
      }
      rows.push(line)
      length += line.length
      count += 1
    } else {
      if (rows.length > 0) yield { kind: 'rows', rows: rows.splice(0) }
      length = 0
      const value: unknown = JSON.parse(line)
      const closing = BackupEnd.safeParse(value)
      if (closing.success) {
        end = closing.data.end
        continue
      }
      yield { kind: 'table', table: BackupTable.parse(value) }
    }
    hash.update(`${line}\n`)
  }
  if (end === null) throw new Failure('source_unreadable', `${file} was cut short: its end is missing`)
  if (hash.digest('hex') !== end.sha256 || count !== end.rows)
    throw new Failure('source_unreadable', `${file} is damaged: its content does not match its digest`)
  return end
}

/** Splits at line feeds only: texts of people may contain other separators. */
async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of pieces) {
    // Only the new piece is searched: a row of megabytes comes in hundreds of pieces.
    const [first = '', ...others] = piece.split('\n')
    rest += first
    for (const next of others) {
      yield rest
      rest = next
    }
  }
  if (rest !== '') yield rest
}

function headerOf(file: string, line: string): BackupHeader {
  const { format } = JSON.parse(line) ?? {}
  if (typeof format === 'number' && format > backupFormat)
    throw new Failure('config_invalid', `${file} has a format that this version does not know; use a newer one`)
  return BackupHeader.parse(JSON.parse(line))
}

function unreadableFailure(file: string, error: unknown): Failure {
  const code = errorCode(error)
  const why =
    code === 'ENOENT'
      ? 'is not there'
      : code === 'ELOOP'
        ? 'is a symbolic link: name the file itself'
        : code === 'Z_BUF_ERROR'
          ? 'was cut short'
          : code?.startsWith('Z_')
            ? 'is damaged, or no backup of Rollcall'
            : code === undefined || code === 'ERR_PARSE_ARGS'
              ? 'is damaged, or no backup of Rollcall'
              : `cannot be read (${code})`
  return new Failure('source_unreadable', `the backup ${file} ${why}`, { cause: error })
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
