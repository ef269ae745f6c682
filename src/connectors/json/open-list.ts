import { cellBytes } from '../cell-size.ts'
import type { ConnectorContext, Reading, SourceRow } from '../connector.ts'
import { decodeFile } from '../file/decode/decode.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import type { OpenedExport } from '../file/opened-export.ts'
import { collectHeaders, flattenRecord, type JsonValue, rowReader } from './cells.ts'
import { type ListEnd, readList } from './read-list.ts'
import { maxCells, maxRowsPerSlice } from './slices.ts'

type ListFormat = ExportFormat & Partial<Pick<Reading, 'mode'>>

type OpenListOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

/**
 * Reads a list of records in a JSON file. Any record may have a member that no other has, so the file is read twice: now to its end, for
 * the columns, and then for the rows. Refuses a file that changes meanwhile.
 */
export async function openList(file: ExportFile, format: ListFormat, options: OpenListOptions): Promise<OpenedExport> {
  const { name } = file
  let textBytes = 0
  let size = 0
  async function* text() {
    textBytes = 0
    for await (const chunk of decodeFile(file, format, options)) {
      textBytes += chunk.length
      yield chunk
    }
  }
  const read = () => readList({ ...format, name, chunks: text() })
  const { headers, ...end } = await readHeaders(read(), name)
  async function* rows() {
    size = 0
    for await (const slice of rowsOf(read(), headers, name)) {
      size += cellBytes(slice)
      yield slice
    }
  }
  return {
    headers,
    sparse: true,
    // No record of an empty list lacks a member.
    missingIsBlank: format.mode !== 'delta' && end.records > 0,
    end,
    rows: { [Symbol.asyncIterator]: rows },
    warnings: () => [],
    textBytes: () => textBytes,
    cellBytes: () => size,
  }
}

type Records = AsyncGenerator<readonly JsonValue[], ListEnd>

async function readHeaders(list: Records, name: string): Promise<ListEnd & { readonly headers: readonly string[] }> {
  const headers = new Set<string>()
  let records = 0
  for (;;) {
    const { done, value } = await list.next()
    if (done) return { ...value, headers: [...headers] }
    records += value.length
    for (const record of value) collectHeaders(headers, flattenRecord(record), name)
    if (records * headers.size > maxCells)
      throw unreadable(`${name}: the records have more than ${maxCells} cells together`, 'check records')
  }
}

async function* rowsOf(list: Records, headers: readonly string[], file: string): AsyncGenerator<readonly SourceRow[]> {
  const toRow = rowReader(headers)
  const maxRows = maxRowsPerSlice(headers)
  let line = 0
  for await (const batch of list)
    for (let from = 0; from < batch.length; from += maxRows)
      yield batch.slice(from, from + maxRows).map((record) => {
        line += 1
        return toRow(flattenRecord(record), { file, line })
      })
}
