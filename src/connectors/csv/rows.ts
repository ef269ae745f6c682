import type { RawRecord, RecordFilter, SourceRow } from '../connector.ts'
import { encodingHelp } from '../file/encoding.ts'
import type { ExportFormat } from '../file/format.ts'
import { Tail, type TailFormat } from '../file/tail.ts'
import { type CsvRecord, isBlank, type RecordFormat, RecordParser } from './records.ts'
import { RecordScanner, scannableDialect } from './scanner.ts'

/** The content of a damaged cell. */
const damageTexts = {
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
  /** With a filter, a slice ends with the chunk that completes this many rows. Default: 500. */
  readonly rowsPerSlice?: number
}

const noBytes: Buffer = Buffer.alloc(0)
const defaultRowsPerSlice = 500
/** The size of the first slice. Its rows decide which others can be skipped. */
const firstChunkBytes = 4096
const maxChunksPerSlice = 64
/** Line ends after the records of a chunk: csv-parse looks ahead up to this many bytes, and would hold the last record back. */
const padding = Buffer.from('\n'.repeat(4))

/**
 * The rows below the header, in slices of about one chunk. The text begins with the header. A row that cannot be used has the reason as
 * its fault. Ends normally only if the text is complete.
 */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  options: RowsOptions,
): AsyncGenerator<readonly SourceRow[]> {
  const parser = new RecordParser(options.name, options.format)
  const rowsBelow = new RowsBelowHeader(options)
  for await (const chunk of chunks) {
    const rows = rowsBelow.take(await parser.write(chunk))
    if (rows.length > 0) yield rows
  }
  const rows = rowsBelow.take(await parser.end())
  parser.checkTerminated()
  rowsBelow.end()
  if (rows.length > 0) yield rows
}

/** Whether the records of a text in this format can be separated before they are parsed. */
export function canFilter(format: RowsFormat): boolean {
  return scannableDialect(format) !== null && !format.footer && !format.trailer
}

/** The rows of `readRows` that the filter does not skip. If few rows of a chunk remain, a slice, which may be empty, spans many chunks. */
export async function* readFilteredRows(
  chunks: AsyncIterable<Buffer>,
  options: RowsOptions,
  filter: RecordFilter,
): AsyncGenerator<readonly SourceRow[]> {
  const { rowsPerSlice = defaultRowsPerSlice } = options
  const rows = new FilteredRows(options, filter)
  let slice: SourceRow[] = []
  let chunksRead = 0
  let minRows = 1
  for await (const chunk of withSmallFirst(chunks)) {
    for (const row of await rows.write(chunk)) slice.push(row)
    chunksRead += 1
    if (slice.length < minRows && chunksRead < maxChunksPerSlice) continue
    yield slice
    minRows = rowsPerSlice
    slice = []
    chunksRead = 0
  }
  yield [...slice, ...(await rows.end())]
}

/** Parses the records of a text that the filter does not skip. */
class FilteredRows {
  readonly #filter: RecordFilter
  readonly #parser: RecordParser
  readonly #scanner: RecordScanner
  readonly #lines: ParsedLines
  readonly #rowsBelow: RowsBelowHeader
  /** Records cannot be separated any more: the whole rest of the text is parsed. */
  #isUnfiltered = false

  constructor(options: RowsOptions, filter: RecordFilter) {
    const { name, format } = options
    const dialect = scannableDialect(format)
    if (dialect === null) throw new Error('records of this format cannot be separated')
    this.#filter = filter
    this.#parser = new RecordParser(name, format)
    this.#scanner = new RecordScanner(dialect, format.headerLine)
    this.#lines = new ParsedLines(format.headerLine)
    this.#rowsBelow = new RowsBelowHeader(options)
  }

  async write(chunk: Buffer): Promise<readonly SourceRow[]> {
    const bytes = this.#isUnfiltered ? chunk : this.#bytesToParse(chunk)
    return bytes.length === 0 ? [] : this.#toRows(await this.#parser.write(bytes))
  }

  async end(): Promise<readonly SourceRow[]> {
    const last = this.#isUnfiltered ? noBytes : this.#lastBytes()
    const records = [...(await this.#parser.write(last)), ...(await this.#parser.end())]
    this.#parser.checkTerminated()
    return this.#toRows(records)
  }

  /** The records of the chunk that are not skipped, with padding. */
  #bytesToParse(chunk: Buffer): Buffer {
    const pieces: Buffer[] = []
    let from = -1
    let until = -1
    const onRecord = (record: RawRecord) => {
      if (this.#filter.shouldSkip(record)) return
      const { text, start, next, line, lines } = record
      this.#lines.add(line, lines)
      if (start !== until) {
        if (until > from) pieces.push(text.subarray(from, until))
        from = start
      }
      until = next
    }
    const isSeparable = this.#scanner.scan(chunk, onRecord, this.#filter.skipRange)
    if (!isSeparable) return this.#stopFiltering()
    if (until > from) pieces.push(this.#scanner.text.subarray(from, until))
    if (pieces.length === 0) return noBytes
    this.#lines.addPadding(padding.length)
    return Buffer.concat([...pieces, padding])
  }

  #lastBytes(): Buffer {
    const rest = this.#scanner.end()
    if (rest === null) return this.#stopFiltering()
    if (rest.text.length > 0) this.#lines.add(rest.line, 1)
    return rest.text
  }

  #stopFiltering(): Buffer {
    this.#filter.stop()
    this.#isUnfiltered = true
    this.#parser.ignoreLines(this.#lines.paddedLines)
    return this.#scanner.text
  }

  #toRows(records: readonly CsvRecord[]): readonly SourceRow[] {
    return this.#rowsBelow.take(this.#isUnfiltered ? records : this.#lines.restore(records, this.#filter))
  }
}

async function* withSmallFirst(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const chunk of chunks) {
    if (isFirst) yield chunk.subarray(0, firstChunkBytes)
    const rest = isFirst ? chunk.subarray(firstChunkBytes) : chunk
    if (rest.length > 0) yield rest
    isFirst = false
  }
}

/** Restores the line numbers of records that csv-parse received without the skipped ones before them. */
class ParsedLines {
  /** The lines of the records in the input of csv-parse, and in the text. */
  #parsed: number[] = []
  #original: number[] = []
  #index = 0
  #nextLine: number
  /** How many line ends were added as padding. */
  paddedLines = 0

  constructor(firstLine: number) {
    this.#nextLine = firstLine
  }

  add(line: number, lines: number): void {
    this.#parsed.push(this.#nextLine)
    this.#original.push(line)
    this.#nextLine += lines
  }

  addPadding(lines: number): void {
    this.paddedLines += lines
    this.#nextLine += lines
  }

  /** The records with their lines in the text, without the padding. */
  restore(records: readonly CsvRecord[], filter: RecordFilter): CsvRecord[] {
    const restored = records.flatMap((record) => {
      if (record.line === this.#parsed[this.#index]) {
        const line = this.#original[this.#index] ?? record.line
        this.#index += 1
        return [line === record.line ? record : { ...record, line }]
      }
      if (!isBlank(record)) filter.fail()
      return []
    })
    if (this.#index < this.#parsed.length) filter.fail()
    this.#parsed = []
    this.#original = []
    this.#index = 0
    return restored
  }
}

/** Turns records into the rows below the header, without blank lines, the footer and the trailer. */
class RowsBelowHeader {
  readonly #options: RowsOptions
  readonly #tail: Tail<CsvRecord> | null
  /** The header and the rows below it that are not people. */
  #recordsToSkip: number
  #isHeaderRead = false

  constructor(options: RowsOptions) {
    const { name, format } = options
    this.#options = options
    this.#tail = format.footer || format.trailer ? new Tail(name, format) : null
    this.#recordsToSkip = 1 + format.linesAfterHeader
  }

  take(records: readonly CsvRecord[]): SourceRow[] {
    const { name, width } = this.#options
    const rows: SourceRow[] = []
    for (const record of records) {
      const blank = isBlank(record)
      if (this.#recordsToSkip > 0) {
        this.#isHeaderRead ||= !blank
        if (this.#isHeaderRead) this.#recordsToSkip -= 1
        continue
      }
      if (blank) continue
      const certain = this.#tail ? this.#tail.push(record) : record
      if (certain) rows.push(toRow(certain, name, width))
    }
    return rows
  }

  end(): void {
    for (const warning of this.#tail?.end() ?? []) this.#options.warn(warning)
  }
}

function toRow({ cells, line, damage }: CsvRecord, name: string, width: number): SourceRow {
  const origin = { file: name, line }
  if (damage === 'quote') {
    const reason = 'a quote is inside a cell that is not enclosed in quotes, or is not doubled'
    return { values: [], origin, fault: { column: null, reason } }
  }
  if (damage === 'nul') {
    // NUL bytes replace lost text. The other cells, and their number, are unreliable too.
    const reason = 'the row holds NUL bytes, so a part of it was lost'
    return { values: cells, origin, fault: { column: null, reason } }
  }
  if (cells.length !== width) {
    const reason = `row has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}, the header has ${width}`
    return { values: cells, origin, fault: { column: null, reason } }
  }
  return damage ? { values: cells, origin, fault: faultOf(cells, damage) } : { values: cells, origin }
}

// A fault names one cell. With several damaged cells the whole row has a fault, because the second cell would go unnoticed.
function faultOf(cells: readonly string[], damage: keyof typeof damageTexts): Fault {
  const damaged = cells.flatMap((cell, index) => (cell.includes('\uFFFD') ? [index] : []))
  const [column = null] = damaged
  if (damaged.length > 1) return { column: null, reason: `several cells hold ${damageTexts[damage]}` }
  return { column, reason: `the cell holds ${damageTexts[damage]}` }
}
