import type { ConnectorPlace, SourceRow } from '../connector.ts'
import { decodeChunks } from '../file/decode/encoding.ts'
import { readHeader } from './header.ts'
import { readRows } from './rows.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFile } from '../file/export-file.ts'
import type { ExportFormat } from '../file/format.ts'
import { decoded } from '../file/decode/decode.ts'

const carriageReturn = 13
const lineFeed = 10
const titleLimitBytes = 1024 * 1024

export type OpenedExport = {
  /** The header's cells as they stand. */
  readonly headers: readonly string[]
  /** To be read once. Ends normally only where the export has been read to its end and is complete. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** What an operator should look at; complete once the rows have been read. */
  readonly warnings: () => readonly string[]
}

type OpenExportOptions = { readonly signal: AbortSignal; readonly secret: ConnectorPlace['secret'] }

/** Reads the header of an export now, and its rows when they are asked for, from a file that must stay as it was found. */
export async function openExport(
  file: ExportFile,
  format: ExportFormat,
  options: OpenExportOptions,
): Promise<OpenedExport> {
  const { name } = file
  const { encoding, headerLine } = format
  const warnings: string[] = []
  const warn = (text: string) => void warnings.push(text)
  const text = (report?: typeof warn) => {
    const chunks = decodeChunks(decoded(file, format, options), { name, encoding, ...(report && { warn: report }) })
    return headerLine === 1 ? chunks : fromLine(chunks, { name, line: headerLine })
  }

  const { headers, delimiter, detected } = await readHeader(() => text(), { name, format })
  if (detected) warn(`${name}: its delimiter was detected in the header: ${delimiter}`)
  const rows = readRows(text(warn), { name, format: { ...format, delimiter }, width: headers.length, warn })
  return { headers, rows, warnings: () => warnings }
}

/** The text from a line on, counted from 1. Nothing where it has fewer lines. */
export async function* fromLine(
  chunks: AsyncIterable<Buffer>,
  { name, line }: { readonly name: string; readonly line: number },
): AsyncGenerator<Buffer> {
  let missing = line - 1
  let titleBytes = 0
  let afterReturn = false
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    // A chunk can end within a CRLF.
    let start: number = afterReturn && chunk[0] === lineFeed ? 1 : 0
    afterReturn = false
    while (missing > 0 && start < chunk.length) {
      const byte: number | undefined = chunk[start]
      start += 1
      if (byte !== lineFeed && byte !== carriageReturn) continue
      missing -= 1
      if (byte === carriageReturn && chunk[start] === lineFeed) start += 1
      afterReturn = byte === carriageReturn && start === chunk.length && chunk[start - 1] === carriageReturn
    }
    titleBytes += start
    if (missing > 0 && titleBytes > titleLimitBytes)
      throw unreadable(`${name}: more than 1 MiB stand above line ${line}, the header`, 'check headerLine and encoding')
    if (start < chunk.length) yield start === 0 ? chunk : chunk.subarray(start)
  }
}
