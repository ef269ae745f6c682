import type { RawRecord, RecordFilter, SourceRow } from '../connector.ts'
import { encodingHelp } from '../file/encoding.ts'
import type { ExportFormat } from '../file/format.ts'
import { type CsvRecord, isBlank, type RecordFormat, RecordParser } from './records.ts'
import { RecordScanner, scannedDialect } from './scanner.ts'
import { Tail, type TailFormat } from './tail.ts'

/** What a damaged cell holds. */
const damages = {
  undecodable: `bytes that are not in the configured encoding; ${encodingHelp}`,
  lost: 'U+FFFD, which stands for a character that was lost before the export was written',
} as const

type Fault = NonNullable<SourceRow['fault']>

type RowsFormat = RecordFormat & TailFormat & Pick<ExportFormat, 'linesAfterHeader'>

type RowsOptions = {
  readonly name: string
  readonly format: RowsFormat
  /** How many columns the header has. */
  readonly width: number
  readonly warn: (text: string) => void
  /** Beside a filter, a slice ends with the chunk that brings it so many rows; 500 unless told otherwise. */
  readonly rowsInSlice?: number
}

const nothing: Buffer = Buffer.alloc(0)
const usualRowsInSlice = 500
/** The first slice is of so many bytes: its rows are read to see which others may be left out. */
const firstBytes = 4096
/** A slice ends with so many chunks, however few rows they bring. */
const chunksInSlice = 64
/** Line ends behind the records of a chunk: csv-parse looks ahead so many bytes at most, and would hold the last record back. */
const padding = Buffer.from('\n'.repeat(4))

/**
 * The rows below the header, in slices of about one chunk. The text begins with the header. A row that cannot be trusted carries the
 * reason as its fault. Ends normally only if the text is complete.
 */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  options: RowsOptions,
): AsyncGenerator<readonly SourceRow[]> {
  const parser = new RecordParser(options.name, options.format)
  const below = belowHeader(options)
  for await (const chunk of chunks) {
    const rows = below.rowsOf(await parser.write(chunk))
    if (rows.length > 0) yield rows
  }
  const rows = below.rowsOf(await parser.end())
  parser.checkTerminated()
  below.end()
  if (rows.length > 0) yield rows
}

/** Whether the records of a text in this format can be told apart before they are read. */
export function canFilter(format: RowsFormat): boolean {
  return scannedDialect(format) !== null && !format.footer && !format.trailer
}

/**
 * The rows that `readRows` reads but for those that the filter leaves out. Where few are left of each chunk, many chunks make a slice,
 * which may be empty.
 */
export async function* readFilteredRows(
  chunks: AsyncIterable<Buffer>,
  options: RowsOptions,
  filter: RecordFilter,
): AsyncGenerator<readonly SourceRow[]> {
  const { name, format, rowsInSlice = usualRowsInSlice } = options
  const dialect = scannedDialect(format)
  if (dialect === null) throw new Error('records of this format cannot be told apart')
  const parser = new RecordParser(name, format)
  const below = belowHeader(options)
  const scanner = new RecordScanner(dialect, format.headerLine)
  const read = new ReadLines(format.headerLine)
  let isGivenUp = false
  const giveUp = (): Buffer => {
    filter.stop()
    isGivenUp = true
    parser.leaveOutLines(read.padded)
    return scanner.text
  }

  /** What csv-parse is to read of a chunk. */
  const partOf = (chunk: Buffer): Buffer => {
    if (isGivenUp) return chunk
    const pieces: Buffer[] = []
    let from = -1
    let until = -1
    const tell = (record: RawRecord) => {
      if (filter.shouldSkip(record)) return
      const { text, start, next, line, lines } = record
      read.add(line, lines)
      if (start !== until) {
        if (until > from) pieces.push(text.subarray(from, until))
        from = start
      }
      until = next
    }
    const isCertain = scanner.scan(chunk, tell, filter.skipRange)
    if (!isCertain) return giveUp()
    if (until > from) pieces.push(scanner.text.subarray(from, until))
    if (pieces.length === 0) return nothing
    read.pad(padding.length)
    return Buffer.concat([...pieces, padding])
  }

  let slice: SourceRow[] = []
  let chunksRead = 0
  let enough = 1
  for await (const chunk of beginningSmall(chunks)) {
    const part = partOf(chunk)
    if (part.length > 0) {
      const records = await parser.write(part)
      for (const row of below.rowsOf(isGivenUp ? records : read.placed(records, filter))) slice.push(row)
    }
    chunksRead += 1
    if (slice.length < enough && chunksRead < chunksInSlice) continue
    yield slice
    enough = rowsInSlice
    slice = []
    chunksRead = 0
  }
  const rest = isGivenUp ? null : scanner.end()
  if (rest !== null && rest.text.length > 0) read.add(rest.line, 1)
  const last = isGivenUp ? nothing : (rest?.text ?? giveUp())
  const records = [...(await parser.write(last)), ...(await parser.end())]
  parser.checkTerminated()
  yield [...slice, ...below.rowsOf(isGivenUp ? records : read.placed(records, filter))]
}

async function* beginningSmall(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const chunk of chunks) {
    if (isFirst) yield chunk.subarray(0, firstBytes)
    const rest = isFirst ? chunk.subarray(firstBytes) : chunk
    if (rest.length > 0) yield rest
    isFirst = false
  }
}

/** Knows in which line of the text the records stand that csv-parse was given, though others were left out before them. */
class ReadLines {
  /** The lines of what csv-parse was given, and those of the text. */
  #given: number[] = []
  #lines: number[] = []
  #at = 0
  #next: number
  /** How many line ends were added. */
  padded = 0

  constructor(firstLine: number) {
    this.#next = firstLine
  }

  add(line: number, lines: number): void {
    this.#given.push(this.#next)
    this.#lines.push(line)
    this.#next += lines
  }

  pad(lines: number): void {
    this.padded += lines
    this.#next += lines
  }

  /** The records with their lines, without the padding. */
  placed(records: readonly CsvRecord[], filter: RecordFilter): CsvRecord[] {
    const placed = records.flatMap((record) => {
      if (record.line === this.#given[this.#at]) {
        const line = this.#lines[this.#at] ?? record.line
        this.#at += 1
        return [line === record.line ? record : { ...record, line }]
      }
      if (!isBlank(record)) filter.fail()
      return []
    })
    if (this.#at < this.#given.length) filter.fail()
    this.#given = []
    this.#lines = []
    this.#at = 0
    return placed
  }
}

function belowHeader({ name, format, width, warn }: RowsOptions) {
  const tail = format.footer || format.trailer ? new Tail(name, format) : undefined
  // The header, and the rows below it that are left out.
  let leftOut = 1 + format.linesAfterHeader
  let headerFound = false
  return {
    rowsOf(records: readonly CsvRecord[]): SourceRow[] {
      const rows: SourceRow[] = []
      for (const record of records) {
        const blank = isBlank(record)
        if (leftOut > 0) {
          headerFound ||= !blank
          if (headerFound) leftOut -= 1
          continue
        }
        if (blank) continue
        const certain = tail ? tail.push(record) : record
        if (certain) rows.push(toRow(certain, name, width))
      }
      return rows
    },
    end(): void {
      for (const warning of tail?.end() ?? []) warn(warning)
    },
  }
}

function toRow({ cells, line, damage }: CsvRecord, name: string, width: number): SourceRow {
  const origin = { file: name, line }
  if (damage === 'quote') {
    const reason = 'a quote stands inside a cell that is not enclosed in quotes, or is not doubled'
    return { values: [], origin, fault: { column: null, reason } }
  }
  if (damage === 'nul') {
    // A disk that loses text leaves NUL bytes. The cells beside them cannot be trusted either, nor can their number.
    const reason = 'the row holds NUL bytes, so a part of it was lost'
    return { values: cells, origin, fault: { column: null, reason } }
  }
  if (cells.length !== width) {
    const reason = `row has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}, the header has ${width}`
    return { values: cells, origin, fault: { column: null, reason } }
  }
  return damage ? { values: cells, origin, fault: faultOf(cells, damage) } : { values: cells, origin }
}

// A fault names one cell. A row with several damaged cells is given up as a whole, because the second one would go unnoticed.
function faultOf(cells: readonly string[], damage: keyof typeof damages): Fault {
  const damaged = cells.flatMap((cell, index) => (cell.includes('\uFFFD') ? [index] : []))
  const [column = null] = damaged
  if (damaged.length > 1) return { column: null, reason: `several cells hold ${damages[damage]}` }
  return { column, reason: `the cell holds ${damages[damage]}` }
}
