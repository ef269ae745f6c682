import type { SourceRow } from '../../connector.ts'
import { type ExportFile, readBytes } from '../../file/export-file.ts'
import { flattenRecord, rowReader } from '../../json/cells.ts'
import { maxRowsPerSlice } from '../../json/slices.ts'
import type { FetchedList } from './fetch-list.ts'

const lineFeed = 10

/** The rows of a spooled list, in slices. A record that cannot be used carries the reason as its fault. */
export async function* listRows(
  file: ExportFile,
  { headers, counts }: Pick<FetchedList, 'headers' | 'counts'>,
  signal: AbortSignal,
): AsyncGenerator<readonly SourceRow[]> {
  const toRow = rowReader(headers)
  const maxRows = maxRowsPerSlice(headers)
  let rows: SourceRow[] = []
  let page = 0
  let line = 0
  for await (const text of linesOf(readBytes(file, signal))) {
    for (; line === counts[page]; page += 1) line = 0
    line += 1
    const record = flattenRecord(JSON.parse(text.toString()))
    rows.push(toRow(record, { file: `${file.name} page ${page + 1}`, line }))
    if (rows.length < maxRows) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
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
