import { isAscii, isUtf8 } from 'node:buffer'
import { type CsvError, type InfoRecord, Parser } from 'csv-parse'
import { TextWindow } from './text-window.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'

const carriageReturn = 13
const lineFeed = 10
const recordLimitBytes = 1024 * 1024
const replacementCharacter = '\uFFFD'
const lineEnds = ['\r\n', '\n', '\r']
/** No text, and more of it than quote, escape and delimiter take together. */
const noText = Buffer.from('fefffefdfcfbfaf9f8fefffe', 'hex')

/** What is wrong with a record: a quote where none may stand (its cells are gone then), or cells that hold no text. */
export type Damage = 'quote' | 'nul' | 'undecodable' | 'lost'

/** One record as it stands in the text, header and blank lines included. `line` is the one where it begins, as an editor counts. */
export type CsvRecord = { readonly cells: readonly string[]; readonly line: number; readonly damage?: Damage }

export type RecordFormat = Pick<ExportFormat, 'delimiter' | 'quote' | 'escape' | 'headerLine' | 'lastLine'>

/** Owns one csv-parse stream: chunks of UTF-8 go in, the records that they complete come out. */
export class RecordParser {
  readonly #name: string
  readonly #parser: Parser
  readonly #format: RecordFormat
  readonly #window = new TextWindow()
  #records: CsvRecord[] = []
  /** Where the latest record ended that could be told apart from its neighbours. */
  #lastByte = 0
  /** The line in which that was, counted from 1; 0 above the first. */
  #lastLine: number
  /** Up to here the text may hold what is no text. */
  #suspectUntilByte = 0
  #writtenBytes = 0
  #finalByte: number | undefined
  /** csv-parse's own array for the record whose quote was reported; every record has another. */
  #reported: unknown

  constructor(name: string, format: RecordFormat) {
    this.#name = name
    this.#format = format
    this.#lastLine = format.headerLine - 1
    this.#parser = new Parser({
      ...dialect(format),
      record_delimiter: [...lineEnds.map((end) => Buffer.from(end)), ...lookahead(format)],
      relax_column_count: true,
      skip_records_with_error: true,
      on_record: (cells: string[], { bytes }: InfoRecord) => this.#take(cells, bytes),
      on_skip: (error) => this.#skip(error),
    })
    // Failures arrive through the callbacks of write and end; what the stream itself would emit is nothing.
    this.#parser.on('error', () => {}).resume()
  }

  async write(chunk: Buffer): Promise<readonly CsvRecord[]> {
    if (chunk.length === 0) return []
    this.#writtenBytes += chunk.length
    this.#finalByte = chunk[chunk.length - 1]
    this.#window.push(chunk)
    if (!isClean(chunk)) this.#suspectUntilByte = this.#writtenBytes
    await new Promise<void>((resolve, reject) =>
      this.#parser.write(chunk, (error) => (error ? reject(error) : resolve())),
    )
    this.#checkSize(this.#writtenBytes)
    return this.#drain()
  }

  async end(): Promise<readonly CsvRecord[]> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#parser.once('error', reject).end(resolve)
    await promise
    return this.#drain()
  }

  /** Refuses a text whose last line has no line end, unless that is configured. */
  checkTerminated(): void {
    if (this.#format.lastLine === 'any' || this.#finalByte === undefined) return
    if (this.#finalByte === lineFeed || this.#finalByte === carriageReturn) return
    throw unreadable(
      `${this.#name}: its last line has no line end`,
      'the export was cut off, or its writer leaves out the last line end: then write lastLine: any',
    )
  }

  #drain(): readonly CsvRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }

  /** Receives every well-formed record. Returns null: the records are collected here and pass by no stream buffer. */
  #take(cells: string[], bytes: number): null {
    this.#checkSize(bytes)
    const damage = this.#lastByte < this.#suspectUntilByte ? this.#damageOf(cells, bytes) : undefined
    const lastLine = this.#lineAt(bytes - 1)
    const line = lastLine - this.#lastLine > 1 ? lastLine - lineEndsIn(cells) : lastLine
    this.#records.push(damage ? { cells, line, damage } : { cells, line })
    this.#lastByte = bytes
    this.#lastLine = lastLine
    return null
  }

  /** Receives every quote that stands where none may stand; csv-parse drops the record at its end and goes on behind it. */
  #skip(error: CsvError | undefined): undefined {
    if (error?.code === 'CSV_QUOTE_NOT_CLOSED') {
      const what = `${this.#name}: a quote that opens after line ${this.#lastLine} is not closed at the end of the file`
      throw unreadable(what, 'the export was cut off, or a quote inside a cell is not doubled')
    }
    const { record, field } = stateOf(this.#parser)
    if (record === this.#reported) return
    this.#reported = record
    const untilByte = Number(error?.bytes)
    const line = this.#lineAt(untilByte) - lineEndsIn(record)
    this.#records.push({ cells: [record[0] ?? field.toString('utf8')], line, damage: 'quote' })
    this.#lastByte = untilByte
    this.#lastLine = line - 1
  }

  #lineAt(byte: number): number {
    return this.#format.headerLine + this.#window.lineEndsBefore(byte)
  }

  #damageOf(cells: readonly string[], untilByte: number): Damage | undefined {
    if (cells.some((cell) => cell.includes('\0'))) return 'nul'
    if (!cells.some((cell) => cell.includes(replacementCharacter))) return undefined
    return isUtf8(this.#window.slice(this.#lastByte, untilByte)) ? 'lost' : 'undecodable'
  }

  #checkSize(untilByte: number): void {
    if (untilByte - this.#lastByte <= recordLimitBytes) return
    const what = `${this.#name}: the row after line ${this.#lastLine} is longer than 1 MiB`
    throw unreadable(what, 'a quote is not closed, or the delimiter or the encoding is not the configured one')
  }
}

export function isBlank({ cells, damage }: CsvRecord): boolean {
  return !damage && cells[0] === '' && cells.every((cell) => cell === '')
}

function dialect(format: RecordFormat) {
  const delimiter = format.delimiter === 'tab' ? '\t' : format.delimiter
  if (format.quote === 'none') return { delimiter, quote: null, escape: null }
  return { delimiter, quote: format.quote, escape: format.escape === 'doubled' ? format.quote : format.escape }
}

/**
 * csv-parse looks as far ahead as its longest record delimiter, which is less than a quote and a delimiter of several bytes take: where a
 * chunk ended between the two, it would take them for text. A record delimiter that no text holds makes it look far enough.
 */
function lookahead({ delimiter, quote, escape: behind }: RecordFormat): readonly Buffer[] {
  const isPlain = [delimiter, quote, behind].every((setting) => isAscii(Buffer.from(setting)))
  return isPlain ? [] : [noText]
}

function isClean(chunk: Buffer): boolean {
  return isUtf8(chunk) && !chunk.includes(0) && !chunk.includes(replacementCharacter)
}

function lineEndsIn(cells: readonly string[]): number {
  return cells.reduce((count, cell) => count + (cell.match(/\r\n|\r|\n/g)?.length ?? 0), 0)
}

/** What csv-parse keeps of the record that it is in; left out of its types. */
function stateOf(parser: Parser): {
  readonly record: readonly string[]
  readonly field: { toString(encoding: string): string }
} {
  return (parser as Parser & { state: ReturnType<typeof stateOf> }).state
}
