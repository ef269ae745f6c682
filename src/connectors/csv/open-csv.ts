import { cellBytes, letterBytes } from '../cell-size.ts'
import type { ConnectorContext, FilterableRows } from '../connector.ts'
import { decodeFile } from '../file/decode/decode.ts'
import { isUtf8Name, toUtf8 } from '../file/encoding.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import type { OpenedExport } from '../file/opened-export.ts'
import { requireTableText } from '../file/other-text.ts'
import { readHeader } from './header.ts'
import { canFilter, readFilteredRows, readRows } from './rows.ts'

const carriageReturn = 13
const lineFeed = 10
const maxTitleBytes = 1024 * 1024

type OpenCsvOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

/** Reads the header of a CSV export. Refuses a file that changes before its rows are read. */
export async function openCsv(file: ExportFile, format: ExportFormat, options: OpenCsvOptions): Promise<OpenedExport> {
  const { name } = file
  const { encoding, headerLine } = format
  const warnings: string[] = []
  const warn = (warning: string): void => {
    warnings.push(warning)
  }
  let textBytes = 0
  let letters = 0
  const wholeText = (report?: typeof warn) =>
    toUtf8(decodeFile(file, format, options), { name, encoding, ...(report && { warn: report }) })
  const fromHeader = (chunks: AsyncIterable<Buffer>) =>
    headerLine === 1 ? chunks : fromLine(chunks, { name, line: headerLine })
  async function* countedText() {
    textBytes = 0
    for await (const chunk of wholeText(warn)) {
      textBytes += chunk.length
      yield chunk
    }
  }

  const { headers, delimiter, isDetected } = await readHeader(() => fromHeader(requireTableText(wholeText(), name)), {
    name,
    format,
  })
  if (isDetected) warn(`${name}: its delimiter was detected in the header: ${delimiter}`)
  async function* text() {
    letters = 0
    for await (const chunk of fromHeader(countedText())) {
      letters += letterBytes(chunk)
      yield chunk
    }
  }
  const read = { name, format: { ...format, delimiter }, width: headers.length, warn }
  const { quote, escape: escapeSetting, linesAfterHeader } = format
  const filterable: FilterableRows = {
    dialect: JSON.stringify([delimiter, quote, escapeSetting, headerLine, linesAfterHeader]),
    rows: (filter) => readFilteredRows(text(), read, filter),
  }
  return {
    headers,
    rows: { [Symbol.asyncIterator]: () => readRows(text(), read) },
    ...(isUtf8Name(encoding) && canFilter(read.format) && { filterable }),
    warnings: () => warnings,
    textBytes: () => textBytes,
    cellBytes: () => letters - cellBytes([{ values: headers }]),
  }
}

/** `name`: the name of the export in failures. */
type FirstLine = { readonly name: string; readonly line: number }

/** The text from a line on, counted from 1; empty if there are fewer lines. */
export async function* fromLine(chunks: AsyncIterable<Buffer>, { name, line }: FirstLine): AsyncGenerator<Buffer> {
  let linesToSkip = line - 1
  let titleBytes = 0
  let isAfterReturn = false
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    // A chunk can end between CR and LF.
    let start: number = isAfterReturn && chunk[0] === lineFeed ? 1 : 0
    isAfterReturn = false
    while (linesToSkip > 0 && start < chunk.length) {
      const byte: number | undefined = chunk[start]
      start += 1
      if (byte !== lineFeed && byte !== carriageReturn) continue
      linesToSkip -= 1
      if (byte === carriageReturn && chunk[start] === lineFeed) start += 1
      isAfterReturn = byte === carriageReturn && start === chunk.length && chunk[start - 1] === carriageReturn
    }
    titleBytes += start
    if (linesToSkip > 0 && titleBytes > maxTitleBytes)
      throw unreadable(`${name}: more than 1 MiB is above line ${line}, the header`, 'check headerLine and encoding')
    if (start < chunk.length) yield start === 0 ? chunk : chunk.subarray(start)
  }
}
