import { CompiledQuery } from 'kysely'
import pg, { type Submittable } from 'pg'
import { copyMark, copyMessages, queryMessage } from './wire.ts'

/** A value in the text format of COPY; null is NULL. */
export type CopyValue = string | number | boolean | null

type CopiedRows = {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly CopyValue[])[]
}

/**
 * Inserts rows with COPY, for a fraction of the cost of INSERT. Fails, and inserts nothing, if a row conflicts. The rows are sent at
 * once, so they should be at most some MiB.
 */
export async function copyRows(
  db: { executeQuery(query: CompiledQuery): Promise<unknown> },
  { table, columns, rows }: CopiedRows,
): Promise<void> {
  const statement = `${copyMark}copy ${table} (${columns.join(', ')}) from stdin`
  await db.executeQuery(CompiledQuery.raw(statement, [Buffer.from(rows.map(rowText).join(''))]))
}

/** Marks a statement `copy … to stdout (format binary)`. */
const readMark = '/* read by copy */ '
/** The header of the binary format: an 11-byte signature, flags, and an empty extension. */
const binaryHead = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
/** Ends the rows: -1 in place of the number of values. */
const binaryEnd = Buffer.from([0xff, 0xff])

type CopiedBytes = {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Buffer[])[]
}

/** As `copyRows`, with values in binary format. */
export async function copyBytes(
  db: { executeQuery(query: CompiledQuery): Promise<unknown> },
  { table, columns, rows }: CopiedBytes,
): Promise<void> {
  const statement = `${copyMark}copy ${table} (${columns.join(', ')}) from stdin (format binary)`
  const count = Buffer.alloc(2)
  count.writeInt16BE(columns.length)
  const written = rows.flatMap((values) => [count, ...values.flatMap((value) => [int4(value.length), value])])
  await db.executeQuery(CompiledQuery.raw(statement, [Buffer.concat([binaryHead, ...written, binaryEnd])]))
}

/** An int4 in binary format. */
export function int4(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(number)
  return bytes
}

/** A uuid in binary format. */
export function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

/**
 * Reads a bytea column with COPY, because text results would be twice as long. `query` selects one bytea column without nulls and has no
 * parameters. `take` gets the value of each row as it arrives, in memory that is reused for the next one.
 */
export async function readBytes(
  db: { executeQuery(query: CompiledQuery): Promise<unknown> },
  query: string,
  take: (value: Buffer) => void,
): Promise<void> {
  let begins = true
  const takeRow = (row: Buffer): void => {
    const at = begins ? binaryHead.length : 0
    begins = false
    if (row.readInt16BE(at) === 1) take(row.subarray(at + 6, at + 6 + row.readInt32BE(at + 2)))
  }
  await db.executeQuery(CompiledQuery.raw(`${readMark}copy (${query}) to stdout (format binary)`, [takeRow]))
}

function rowText(values: readonly CopyValue[]): string {
  return `${values.map(valueText).join('\t')}\n`
}

function valueText(value: CopyValue): string {
  if (value === null) return '\\N'
  const text = String(value)
  return /[\\\t\r\n]/.test(text) ? text.replaceAll(/[\\\t\r\n]/g, (letter) => escaped[letter] ?? letter) : text
}

const escaped: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\r': '\\r', '\n': '\\n' }

type CopyCallback = (error: Error | null, result?: { command: string; rowCount: number; rows: readonly [] }) => void

/** The messages of a COPY, and the receiver of its rows, each in one message. */
type CopyMessages = { readonly messages: readonly Buffer[]; readonly take?: (row: Buffer) => void }

/** A client that supports `copyRows` and `readBytes`. */
export class CopyingClient extends pg.Client {
  override query(...[statement, ...rest]: readonly unknown[]): never {
    const query = super.query as (...passed: readonly unknown[]) => never
    const copying = typeof statement === 'string' ? copyingOf(statement, rest) : null
    if (copying === null) return query.call(this, statement, ...rest)
    return new Promise((done, failed) => {
      query.call(this, new Copy(copying, (error, result) => (error ? failed(error) : done(result))))
    }) as never
  }
}

/**
 * How a COPY statement is run; null for any other. The rows do not wait for the server to request them: it ignores those of a statement
 * that it refused.
 */
function copyingOf(statement: string, rest: readonly unknown[]): CopyMessages | null {
  if (statement.startsWith(readMark)) {
    const [[take] = []] = rest as [[CopyMessages['take']]?]
    return { messages: [queryMessage(statement)], ...(take && { take }) }
  }
  if (!statement.startsWith(copyMark)) return null
  const [[rows] = []] = rest as [Buffer[]?]
  return { messages: copyMessages(statement, rows ?? Buffer.alloc(0)) }
}

/** A COPY under way, in either direction. */
class Copy implements Submittable {
  readonly #copying: CopyMessages
  // node-postgres clears it when nobody waits for the query any more.
  callback: CopyCallback
  #rowCount = 0
  #failure: Error | null = null

  constructor(copying: CopyMessages, callback: CopyCallback) {
    this.#copying = copying
    this.callback = callback
  }

  submit({ stream }: pg.Connection): void {
    stream.cork()
    for (const message of this.#copying.messages) stream.write(message)
    stream.uncork()
  }

  handleCopyInResponse(): void {}

  // An exception here would end the process, and the remaining rows must be read in any case.
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.#failure !== null) return
    try {
      this.#copying.take?.(chunk)
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error('a row could not be taken', { cause: error })
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#rowCount = Number(text.split(' ')[1])
  }

  handleReadyForQuery(): void {
    if (this.#failure !== null) this.callback(this.#failure)
    else this.callback(null, { command: 'COPY', rowCount: this.#rowCount, rows: [] })
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}
