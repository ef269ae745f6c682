import { type CsvError, type InfoRecord, Parser } from 'csv-parse'
import type { SourceRow } from './connector.ts'
import { unreadable } from './csv-file.ts'

const recordLimitBytes = 1024 * 1024
const replacementCharacter = '\uFFFD'

type Fault = NonNullable<SourceRow['fault']>

export type CsvFormat = { readonly delimiter: string; readonly quote: string }

/** The header's cells as they stand, read no further than needed. */
export async function readHeader(
  chunks: AsyncIterable<Buffer>,
  { name, format }: { readonly name: string; readonly format: CsvFormat },
): Promise<readonly string[]> {
  const parser = new RowParser(name, format)
  for await (const chunk of chunks) {
    await parser.write(chunk)
    if (parser.headers) return parser.headers
  }
  await parser.end()
  return parser.headers ?? noHeader(name)
}

/** The rows below the header, in slices of about one chunk. What cannot be trusted about a row travels with it as its fault. */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  { name, format }: { readonly name: string; readonly format: CsvFormat },
): AsyncGenerator<readonly SourceRow[]> {
  const parser = new RowParser(name, format)
  for await (const chunk of chunks) {
    const rows = await parser.write(chunk)
    if (rows.length > 0) yield rows
  }
  const rows = await parser.end()
  if (rows.length > 0) yield rows
}

function noHeader(name: string): never {
  throw unreadable(`${name} holds no header`, 'its first line must name the columns')
}

/** Owns one csv-parse stream: chunks go in, the rows that they complete come out. */
class RowParser {
  headers: readonly string[] | undefined
  readonly #name: string
  readonly #parser: Parser
  #rows: SourceRow[] = []
  /** Where the latest row ended that could be told apart from its neighbours. */
  #lastLine = 0
  #lastByte = 0
  #writtenBytes = 0

  constructor(name: string, { delimiter, quote }: CsvFormat) {
    this.#name = name
    this.#parser = new Parser({
      delimiter: delimiter === 'tab' ? '\t' : delimiter,
      quote: quote === 'none' ? null : quote,
      escape: quote === 'none' ? null : quote,
      record_delimiter: ['\n', '\r'],
      relax_column_count: true,
      skip_records_with_error: true,
      on_record: (cells: string[], info) => this.#take(cells, info),
      on_skip: (error) => this.#skip(error),
    })
    // Failures arrive through the callbacks of write and end; what the stream itself would emit is nothing.
    this.#parser.on('error', () => {}).resume()
  }

  async write(chunk: Buffer): Promise<readonly SourceRow[]> {
    this.#writtenBytes += chunk.length
    await new Promise<void>((resolve, reject) =>
      this.#parser.write(chunk, (error) => (error ? reject(error) : resolve())),
    )
    this.#checkSize(this.#writtenBytes)
    return this.#drain()
  }

  async end(): Promise<readonly SourceRow[]> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#parser.once('error', reject).end(resolve)
    await promise
    return this.#drain()
  }

  #drain(): readonly SourceRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  /** Receives every well-formed record. Returns null: the records are collected here and pass by no stream buffer. */
  #take(cells: string[], { bytes, lines }: InfoRecord): null {
    this.#checkSize(bytes)
    const line = lines - this.#lastLine > 1 ? lines - lineEndsIn(cells) : lines
    this.#lastLine = lines
    this.#lastByte = bytes
    if (isBlank(cells)) return null
    if (this.headers) this.#rows.push(toRow(cells, { file: this.#name, line }, this.headers.length))
    else this.headers = checkedHeaders(cells, this.#name)
    return null
  }

  /** Receives every quote that stands where none may stand; csv-parse drops the record and goes on behind it. */
  #skip(error: CsvError | undefined): undefined {
    const line = Number(error?.lines)
    if (error?.code === 'CSV_QUOTE_NOT_CLOSED') {
      const what = `${this.#name}: a quote that opens after line ${this.#lastLine} is not closed at the end of the file`
      throw unreadable(what, 'the export was cut off, or a quote inside a cell is not doubled')
    }
    if (!this.headers)
      throw unreadable(
        `${this.#name}:${line}: a quote in the header is not enclosed and doubled`,
        'check the quote setting',
      )
    if (line === this.#rows.at(-1)?.origin.line) return
    const reason = 'a quote stands inside a cell that is not enclosed in quotes, or is not doubled'
    this.#rows.push({ values: [], origin: { file: this.#name, line }, fault: { column: null, reason } })
  }

  #checkSize(untilByte: number): void {
    if (untilByte - this.#lastByte <= recordLimitBytes) return
    const what = `${this.#name}: the row after line ${this.#lastLine} is longer than 1 MiB`
    throw unreadable(what, 'a quote is not closed, or the delimiter or the encoding is not the configured one')
  }
}

function lineEndsIn(cells: readonly string[]): number {
  return cells.reduce((count, cell) => count + (cell.match(/[\r\n]/g)?.length ?? 0), 0)
}

function isBlank(cells: readonly string[]): boolean {
  return cells[0] === '' && cells.every((cell) => cell === '')
}

function checkedHeaders(cells: readonly string[], name: string): readonly string[] {
  const undecodable = cells.some((cell) => cell.includes(replacementCharacter) || cell.includes('\0'))
  if (undecodable)
    throw unreadable(`${name}: the header is not in the configured encoding`, 'check the encoding setting')
  return cells
}

function toRow(values: readonly string[], origin: SourceRow['origin'], width: number): SourceRow {
  if (values.length !== width) {
    const reason = `row has ${values.length} ${values.length === 1 ? 'cell' : 'cells'}, the header has ${width}`
    return { values, origin, fault: { column: null, reason } }
  }
  const damaged = damagedColumn(values)
  return damaged === undefined ? { values, origin } : { values, origin, fault: damagedFault(values, damaged) }
}

function damagedColumn(values: readonly string[]): number | undefined {
  for (let column = 0; column < values.length; column += 1) {
    if (values[column]?.includes(replacementCharacter)) return column
  }
  return undefined
}

// A fault names one cell. With several damaged ones the row is given up as a whole, or the second would pass unnoticed.
function damagedFault(values: readonly string[], column: number): Fault {
  const several = damagedColumn(values.slice(column + 1)) !== undefined
  if (several) return { column: null, reason: 'several cells hold bytes that are not in the configured encoding' }
  return { column, reason: 'the cell holds bytes that are not in the configured encoding' }
}
