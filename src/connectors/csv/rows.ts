import type { SourceRow } from '../connector.ts'
import type { ExportFormat } from '../file/format.ts'
import { type CsvRecord, isBlank, type RecordFormat, RecordParser } from './records.ts'
import { Tail, type TailFormat } from './tail.ts'

/** What a damaged cell holds. */
const damages = {
  undecodable: 'bytes that are not in the configured encoding',
  lost: 'U+FFFD, which stands for a character that was lost before the export was written',
} as const

type Fault = NonNullable<SourceRow['fault']>

export type RowsFormat = RecordFormat & TailFormat & Pick<ExportFormat, 'linesAfterHeader'>

type RowsOptions = {
  readonly name: string
  readonly format: RowsFormat
  /** How many columns the header has. */
  readonly width: number
  readonly warn: (text: string) => void
}

/**
 * The rows below the header, in slices of about one chunk. The text begins with the header. A row that cannot be trusted carries the
 * reason as its fault. Ends normally only if the text is complete.
 */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  { name, format, width, warn }: RowsOptions,
): AsyncGenerator<readonly SourceRow[]> {
  const parser = new RecordParser(name, format)
  const tail = format.footer || format.trailer ? new Tail(name, format) : undefined
  // The header, and the rows below it that are left out.
  let leftOut = 1 + format.linesAfterHeader
  let headerFound = false

  const rowsOf = (records: readonly CsvRecord[]): SourceRow[] => {
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
  }

  for await (const chunk of chunks) {
    const rows = rowsOf(await parser.write(chunk))
    if (rows.length > 0) yield rows
  }
  const rows = rowsOf(await parser.end())
  parser.checkTerminated()
  for (const warning of tail?.end() ?? []) warn(warning)
  if (rows.length > 0) yield rows
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
  const damaged = cells.flatMap((cell, column) => (cell.includes('\uFFFD') ? [column] : []))
  const [column = null] = damaged
  if (damaged.length > 1) return { column: null, reason: `several cells hold ${damages[damage]}` }
  return { column, reason: `the cell holds ${damages[damage]}` }
}
