import { isAscii, isUtf8 } from 'node:buffer'
import { type CsvError, type InfoRecord, Parser } from 'csv-parse'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import { TextWindow } from './text-window.ts'

const carriageReturn = 13
const lineFeed = 10
const recordLimitBytes = 1024 * 1024
/** An export has no more blank rows, beside as many as it has others: a spreadsheet has so many rows at most. */
const maxBlankRows = 1_048_576
const replacementCharacter = '\uFFFD'
const lineEnds = ['\r\n', '\n', '\r']
/** Bytes that no text holds, and more of them than quote, escape and delimiter have together. */
const noText = Buffer.from('fefffefdfcfbfaf9f8fefffe', 'hex')

/** What is wrong with a record: a quote in the wrong place (the cells are then lost), or cells that hold no text. */
export type Damage = 'quote' | 'nul' | 'undecodable' | 'lost'

/** One record of the text, which may be the header or a blank line. `line` is where it begins, counted as an editor does. */
export type CsvRecord = { readonly cells: readonly string[]; readonly line: number; readonly damage?: Damage }

export type RecordFormat = Pick<ExportFormat, 'delimiter' | 'quote' | 'escape' | 'headerLine' | 'lastLine'>

/** Owns one csv-parse stream. It takes chunks of UTF-8 and returns the records that they complete. */
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
  /** Up to this byte the text may hold bytes that are no text. */
  #suspectUntilByte = 0
  #linesLeftOut = 0
  /** Blank rows so far, less the others. */
  #blankRows = 0
  #writtenBytes = 0
  #finalByte: number | undefined
  /** How many NUL bytes the text ends in so far, up to two: UTF-16 that is read as another encoding may end in one. */
  #finalNuls = 0
  /** csv-parse's own array for the record whose quote was reported. Every record has another array. */
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
    // Failures arrive through the callbacks of write and end. The stream itself emits nothing of interest.
    this.#parser.on('error', () => {}).resume()
  }

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
    return this.#drain()
  }

  /** Counts lines anew from here on, where the text holds so many line ends fewer than it was given. */
  leaveOutLines(lines: number): void {
    this.#linesLeftOut += lines
  }

  async end(): Promise<readonly CsvRecord[]> {
    if (this.#finalNuls > 1) throw endsInNuls(this.#name)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#parser.once('error', reject).end(resolve)
    await promise
    return this.#drain()
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

  #drain(): readonly CsvRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }

  /** Receives every well-formed record. It returns null, because the records are collected here and not in the buffer of the stream. */
  #take(cells: string[], bytes: number): null {
    this.#checkSize(bytes)
    this.#countBlank(cells)
    const damage = this.#lastByte < this.#suspectUntilByte ? this.#damageOf(cells, bytes) : undefined
    const lastLine = this.#lineAt(bytes - 1)
    const line = lastLine - this.#lastLine > 1 ? lastLine - lineEndsIn(cells) : lastLine
    this.#records.push(damage ? { cells, line, damage } : { cells, line })
    this.#lastByte = bytes
    this.#lastLine = lastLine
    return null
  }

  /** Receives every quote in a wrong place. csv-parse drops the record at its end and continues after it. */
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
    return this.#format.headerLine + this.#window.lineEndsBefore(byte) - this.#linesLeftOut
  }

  #damageOf(cells: readonly string[], untilByte: number): Damage | undefined {
    if (cells.some((cell) => cell.includes('\0'))) return 'nul'
    if (!cells.some((cell) => cell.includes(replacementCharacter))) return undefined
    return isUtf8(this.#window.slice(this.#lastByte, untilByte)) ? 'lost' : 'undecodable'
  }

  /** Blank lines pack to next to nothing, and each costs as much as a row: what unpacks to millions of them is not read to its end. */
  #countBlank(cells: readonly string[]): void {
    this.#blankRows += cells.every((cell) => cell.trim() === '') ? 1 : -1
    if (this.#blankRows <= maxBlankRows) return
    const what = `${this.#name}: more than ${maxBlankRows} rows down to line ${this.#lastLine + 1} are blank`
    throw unreadable(what, 'have the export end with its last row')
  }

  #checkSize(untilByte: number): void {
    if (untilByte - this.#lastByte <= recordLimitBytes) return
    if (this.#finalNuls > 1) throw endsInNuls(this.#name)
    const what = `${this.#name}: the row after line ${this.#lastLine} is longer than 1 MiB`
    throw unreadable(what, 'a quote is not closed, or the delimiter or the encoding is not the configured one')
  }
}

/** What a full disk leaves, and a transfer that reserves the space first: the file has its size, and its end was never written. */
function endsInNuls(name: string) {
  return unreadable(`${name} is a damaged file that ends in NUL bytes`, 'a part of it was lost: have it sent again')
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
 * A record delimiter that no text holds, so that csv-parse looks ahead far enough. It looks ahead as far as its longest record
 * delimiter is, which is shorter than a quote and a delimiter of several bytes. If a chunk ended between those two, it would take
 * them for text.
 */
function lookahead({ delimiter, quote, escape: behind }: RecordFormat): readonly Buffer[] {
  const isPlain = [delimiter, quote, behind].every((setting) => isAscii(Buffer.from(setting)))
  return isPlain ? [] : [noText]
}

function isClean(chunk: Buffer): boolean {
  return isUtf8(chunk) && !chunk.includes(0) && !chunk.includes(replacementCharacter)
}

/** How many NUL bytes a text ends in, up to two, where `before` of them stood before its last chunk. */
function nulsAtEnd(chunk: Buffer, before: number): number {
  if (chunk.length === 0) return before
  if (chunk.at(-1) !== 0) return 0
  const previous = chunk.length > 1 ? chunk.at(-2) === 0 : before > 0
  return previous ? 2 : 1
}

function lineEndsIn(cells: readonly string[]): number {
  return cells.reduce((count, cell) => count + (cell.match(/\r\n|\r|\n/g)?.length ?? 0), 0)
}

/** What csv-parse has read of the current record. Its types do not declare this. */
function stateOf(parser: Parser): {
  readonly record: readonly string[]
  readonly field: { toString(encoding: string): string }
} {
  return (parser as Parser & { state: ReturnType<typeof stateOf> }).state
}
