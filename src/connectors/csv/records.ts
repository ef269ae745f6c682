import { isAscii, isUtf8 } from 'node:buffer'
import { type CsvError, type InfoRecord, Parser } from 'csv-parse'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import { TextWindow } from './text-window.ts'

const carriageReturn = 13
const lineFeed = 10
const maxRecordBytes = 1024 * 1024
/** Maximum number of blank rows more than other rows: the number of rows of a spreadsheet. */
const maxBlankRows = 1_048_576
const replacementCharacter = '\uFFFD'
const lineEnds = ['\r\n', '\n', '\r']
/** Bytes that no text contains, longer than quote, escape and delimiter together. */
const impossibleText = Buffer.from('fefffefdfcfbfaf9f8fefffe', 'hex')

/** What is wrong with a record: a quote in the wrong place (its cells are lost), or cells with bytes that are no text. */
export type Damage = 'quote' | 'nul' | 'undecodable' | 'lost'

/** One record of the text, which may be the header or a blank line. `line`: where it begins, counted from 1. */
export type CsvRecord = { readonly cells: readonly string[]; readonly line: number; readonly damage?: Damage }

/** The settings for the records of a text. */
export type RecordFormat = Pick<ExportFormat, 'delimiter' | 'quote' | 'escape' | 'headerLine' | 'lastLine'>

/** Owns one csv-parse stream. Takes chunks of UTF-8 and returns the records that they complete. */
export class RecordParser {
  readonly #name: string
  readonly #parser: Parser
  readonly #format: RecordFormat
  readonly #window = new TextWindow()
  #records: CsvRecord[] = []
  /** The byte at which the latest record ended. */
  #lastByte = 0
  /** The line of that byte, counted from 1; 0 before the first line. */
  #lastLine: number
  /** Up to this byte the text may contain bytes that are no text. */
  #suspectUntilByte = 0
  #skippedLines = 0
  /** The number of blank rows so far minus the number of others. */
  #excessBlankRows = 0
  #writtenBytes = 0
  #finalByte: number | undefined
  /** How many NUL bytes the text ends with so far, up to two: UTF-16 that is read as another encoding may end with one. */
  #finalNuls = 0
  /** The array of csv-parse for the record whose quote was reported. Every record has its own array. */
  #reportedRecord: unknown

  constructor(name: string, format: RecordFormat) {
    this.#name = name
    this.#format = format
    this.#lastLine = format.headerLine - 1
    this.#parser = new Parser({
      ...dialect(format),
      record_delimiter: [...lineEnds.map((end) => Buffer.from(end)), ...lookahead(format)],
      relax_column_count: true,
      skip_records_with_error: true,
      on_record: (cells: string[], { bytes }: InfoRecord) => this.#addRecord(cells, bytes),
      on_skip: (error) => this.#addBadQuote(error),
    })
    // Errors arrive through the callbacks of write and end.
    this.#parser.on('error', () => {}).resume()
  }

  /** Adds a chunk and returns the records that are complete. Throws if the text cannot be an export. */
  async write(chunk: Buffer): Promise<readonly CsvRecord[]> {
    if (chunk.length === 0) return []
    this.#writtenBytes += chunk.length
    this.#finalByte = chunk[chunk.length - 1]
    this.#finalNuls = nulsAtEnd(chunk, this.#finalNuls)
    this.#window.push(chunk)
    if (!isClean(chunk)) this.#suspectUntilByte = this.#writtenBytes
    await new Promise<void>((resolve, reject) =>
      this.#parser.write(chunk, (error) => (error ? reject(error) : resolve())),
    )
    this.#checkSize(this.#writtenBytes)
    return this.#takeRecords()
  }

  /** Subtracts line ends that were added to the text from all later line numbers. */
  ignoreLines(lines: number): void {
    this.#skippedLines += lines
  }

  /** Ends the text and returns the last records. */
  async end(): Promise<readonly CsvRecord[]> {
    if (this.#finalNuls > 1) throw endsInNuls(this.#name)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#parser.once('error', reject).end(resolve)
    await promise
    return this.#takeRecords()
  }

  /** Refuses a text whose last line has no line end, unless the configuration allows that. */
  checkTerminated(): void {
    if (this.#format.lastLine === 'any' || this.#finalByte === undefined) return
    if (this.#finalByte === lineFeed || this.#finalByte === carriageReturn) return
    throw unreadable(
      `${this.#name}: its last line has no line end`,
      'the export was cut off, or its writer leaves out the last line end: then write lastLine: any',
    )
  }

  #takeRecords(): readonly CsvRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }

  /** Receives every well-formed record. Returns null: the records are collected here, not in the buffer of the stream. */
  #addRecord(cells: string[], bytes: number): null {
    this.#checkSize(bytes)
    this.#checkBlankRows(cells)
    const damage = this.#lastByte < this.#suspectUntilByte ? this.#damageOf(cells, bytes) : undefined
    const lastLine = this.#lineAt(bytes - 1)
    const line = lastLine - this.#lastLine > 1 ? lastLine - countLineEnds(cells) : lastLine
    this.#records.push(damage ? { cells, line, damage } : { cells, line })
    this.#lastByte = bytes
    this.#lastLine = lastLine
    return null
  }

  /** Receives every misplaced quote. csv-parse drops the record and continues after it. */
  #addBadQuote(error: CsvError | undefined): undefined {
    if (error?.code === 'CSV_QUOTE_NOT_CLOSED') {
      const problem = `${this.#name}: a quote that opens after line ${this.#lastLine} is not closed at the end of the file`
      throw unreadable(problem, 'the export was cut off, or a quote inside a cell is not doubled')
    }
    const { record, field } = stateOf(this.#parser)
    if (record === this.#reportedRecord) return
    this.#reportedRecord = record
    const untilByte = Number(error?.bytes)
    const line = this.#lineAt(untilByte) - countLineEnds(record)
    this.#records.push({ cells: [record[0] ?? field.toString('utf8')], line, damage: 'quote' })
    this.#lastByte = untilByte
    this.#lastLine = line - 1
  }

  #lineAt(byte: number): number {
    return this.#format.headerLine + this.#window.lineEndsBefore(byte) - this.#skippedLines
  }

  #damageOf(cells: readonly string[], untilByte: number): Damage | undefined {
    if (cells.some((cell) => cell.includes('\0'))) return 'nul'
    if (!cells.some((cell) => cell.includes(replacementCharacter))) return undefined
    return isUtf8(this.#window.slice(this.#lastByte, untilByte)) ? 'lost' : 'undecodable'
  }

  /** Blank lines compress to almost nothing and cost as much as rows, so an export of millions of them is refused early. */
  #checkBlankRows(cells: readonly string[]): void {
    this.#excessBlankRows += cells.every((cell) => cell.trim() === '') ? 1 : -1
    if (this.#excessBlankRows <= maxBlankRows) return
    const problem = `${this.#name}: more than ${maxBlankRows} rows down to line ${this.#lastLine + 1} are blank`
    throw unreadable(problem, 'have the export end with its last row')
  }

  #checkSize(untilByte: number): void {
    if (untilByte - this.#lastByte <= maxRecordBytes) return
    if (this.#finalNuls > 1) throw endsInNuls(this.#name)
    const problem = `${this.#name}: the row after line ${this.#lastLine} is longer than 1 MiB`
    throw unreadable(problem, 'a quote is not closed, or the delimiter or the encoding is not the configured one')
  }
}

/** A full disk, or a transfer that reserves the space first, leaves a file of the full size whose end was never written. */
function endsInNuls(name: string) {
  return unreadable(`${name} is a damaged file that ends in NUL bytes`, 'a part of it was lost: have it sent again')
}

/** Whether all cells of a record are empty. */
export function isBlank({ cells, damage }: CsvRecord): boolean {
  return !damage && cells[0] === '' && cells.every((cell) => cell === '')
}

function dialect(format: RecordFormat) {
  const delimiter = format.delimiter === 'tab' ? '\t' : format.delimiter
  if (format.quote === 'none') return { delimiter, quote: null, escape: null }
  return { delimiter, quote: format.quote, escape: format.escape === 'doubled' ? format.quote : format.escape }
}

/**
 * A record delimiter that no text contains. csv-parse looks ahead as far as its longest record delimiter, which otherwise is shorter
 * than a quote and a delimiter of several bytes: if a chunk ended between those two, it would take them for text.
 */
function lookahead({ delimiter, quote, escape: escapeSetting }: RecordFormat): readonly Buffer[] {
  const isPlain = [delimiter, quote, escapeSetting].every((setting) => isAscii(Buffer.from(setting)))
  return isPlain ? [] : [impossibleText]
}

function isClean(chunk: Buffer): boolean {
  return isUtf8(chunk) && !chunk.includes(0) && !chunk.includes(replacementCharacter)
}

/** How many NUL bytes a text ends with, up to two, if it ended with `before` of them before this chunk. */
function nulsAtEnd(chunk: Buffer, before: number): number {
  if (chunk.length === 0) return before
  if (chunk.at(-1) !== 0) return 0
  const previous = chunk.length > 1 ? chunk.at(-2) === 0 : before > 0
  return previous ? 2 : 1
}

function countLineEnds(cells: readonly string[]): number {
  return cells.reduce((count, cell) => count + (cell.match(/\r\n|\r|\n/g)?.length ?? 0), 0)
}

/** The part of the current record that csv-parse has read. Its types do not declare this. */
function stateOf(parser: Parser): {
  readonly record: readonly string[]
  readonly field: { toString(encoding: string): string }
} {
  return (parser as Parser & { state: ReturnType<typeof stateOf> }).state
}
