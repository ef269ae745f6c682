import type { SourceRow } from '../connector.ts'
import { type ExportFile, readBytes } from '../file/export-file.ts'
import type { Pages } from './pages.ts'
import { flattenRecord, rowReader } from '../json/cells.ts'

const rowsInSlice = 1000
const cellsInSlice = 200_000
const lineFeed = 10

/** The rows of spooled pages, in slices. What cannot be trusted about a record travels with it as its fault. */
export async function* readRecords(
  file: ExportFile,
  { headers, counts }: Pick<Pages, 'headers' | 'counts'>,
  signal: AbortSignal,
): AsyncGenerator<readonly SourceRow[]> {
  const toRow = rowReader(headers)
  const most = Math.max(1, Math.min(rowsInSlice, Math.floor(cellsInSlice / Math.max(1, headers.length))))
  let rows: SourceRow[] = []
  let page = 0
  let line = 0
  for await (const text of linesOf(readBytes(file, signal))) {
    for (; line === counts[page]; page += 1) line = 0
    line += 1
    const record = flattenRecord(JSON.parse(text.toString()))
    rows.push(toRow(record, { file: `${file.name} page ${page + 1}`, line }))
    if (rows.length < most) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, end)])
      begun = []
      from = end + 1
    }
    begun.push(chunk.subarray(from))
  }
}
