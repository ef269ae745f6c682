import type { SourceRow } from '../../connector.ts'
import { type ExportFile, readBytes } from '../../file/export-file.ts'
import { flattenRecord, rowReader } from '../../json/cells.ts'
import { maxRowsPerSlice } from '../../json/slices.ts'
import type { FetchedList } from './fetch-list.ts'

const lineFeed = 10

/** A record of a spooled list as the text of its line, with its position in the list. */
export type SpooledRecord = { readonly text: string; readonly origin: { readonly file: string; readonly line: number } }

/** How the rows of a spooled list are made. */
type RowMaker = Pick<FetchedList, 'headers' | 'counts'> & { readonly toRow: (record: SpooledRecord) => SourceRow }

/** The rows of a spooled list, in slices. A record that cannot be used carries the reason as its fault. */
export function listRows(
  file: ExportFile,
  { headers, counts }: Pick<FetchedList, 'headers' | 'counts'>,
  signal: AbortSignal,
): AsyncGenerator<readonly SourceRow[]> {
  const toCells = rowReader(headers)
  const toRow = ({ text, origin }: SpooledRecord) => toCells(flattenRecord(JSON.parse(text)), origin)
  return slicesOfRows(file, { headers, counts, toRow }, signal)
}

/** The rows that `toRow` makes of the records of a spooled list, in slices. */
export async function* slicesOfRows(
  file: ExportFile,
  { headers, counts, toRow }: RowMaker,
  signal: AbortSignal,
): AsyncGenerator<readonly SourceRow[]> {
  const maxRows = maxRowsPerSlice(headers)
  let rows: SourceRow[] = []
  for await (const record of spooledRecords(file, counts, signal)) {
    rows.push(toRow(record))
    if (rows.length < maxRows) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

/** The records of a spooled list, one at a time. `counts`: how many records each page holds. */
export async function* spooledRecords(
  file: ExportFile,
  counts: readonly number[],
  signal: AbortSignal,
): AsyncGenerator<SpooledRecord> {
  let page = 0
  let line = 0
  for await (const bytes of linesOf(readBytes(file, signal))) {
    for (; line === counts[page]; page += 1) line = 0
    line += 1
    yield { text: bytes.toString(), origin: { file: `${file.name} page ${page + 1}`, line } }
  }
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, end)])
      pieces = []
      from = end + 1
    }
    pieces.push(chunk.subarray(from))
  }
}
