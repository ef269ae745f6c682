import { CompiledQuery } from 'kysely'
import pg, { type Submittable } from 'pg'
import { copyMark, copyMessages } from './wire.ts'

export type CopyValue = string | number | boolean | null

/**
 * Adds rows to a table by COPY, for a fraction of what INSERT costs. It fails if one of them is there already, and then adds none. The
 * rows travel at once, so they should not be more than some MiB.
 */
export async function copyRows(
  db: { executeQuery(query: CompiledQuery): Promise<unknown> },
  { table, columns, rows }: { table: string; columns: readonly string[]; rows: readonly (readonly CopyValue[])[] },
): Promise<void> {
  const statement = `${copyMark}copy ${table} (${columns.join(', ')}) from stdin`
  await db.executeQuery(CompiledQuery.raw(statement, [Buffer.from(rows.map(rowText).join(''))]))
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

type Told = (error: Error | null, result?: { command: string; rowCount: number; rows: readonly never[] }) => void

/** A client that runs what `copyRows` asks for. */
export class CopyingClient extends pg.Client {
  override query(...[statement, ...rest]: readonly unknown[]): never {
    const query = super.query as (...passed: readonly unknown[]) => never
    if (typeof statement !== 'string' || !statement.startsWith(copyMark)) return query.call(this, statement, ...rest)
    const [[rows] = []] = rest as [Buffer[]?]
    return new Promise((done, failed) => {
      const told: Told = (error, result) => (error ? failed(error) : done(result))
      query.call(this, new CopyIn(statement, rows ?? Buffer.alloc(0), told))
    }) as never
  }
}

/** A COPY with all of its rows. They do not wait for the server to ask for them: it ignores rows of a statement that it has refused. */
class CopyIn implements Submittable {
  readonly #messages: Buffer
  // node-postgres takes it away from a query that nobody waits for any more.
  callback: Told
  #rowCount = 0

  constructor(statement: string, rows: Buffer, told: Told) {
    this.#messages = copyMessages(statement, rows)
    this.callback = told
  }

  submit(connection: pg.Connection): void {
    connection.stream.write(this.#messages)
  }

  handleCopyInResponse(): void {}

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#rowCount = Number(text.split(' ')[1])
  }

  handleReadyForQuery(): void {
    this.callback(null, { command: 'COPY', rowCount: this.#rowCount, rows: [] })
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}
