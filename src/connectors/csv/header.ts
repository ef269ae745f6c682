import { Failure } from '../../errors.ts'
import { splitChunks } from '../file/decode/chunks.ts'
import { unreadable } from '../file/failures.ts'
import { type CsvRecord, isBlank, type RecordFormat, RecordParser } from './records.ts'

const columnLimit = 10_000
const pieceBytes = 16 * 1024

const candidates = [
  { setting: ',', written: "','", character: ',' },
  { setting: ';', written: "';'", character: ';' },
  { setting: 'tab', written: 'tab', character: '\t' },
  { setting: '|', written: "'|'", character: '|' },
] as const

type Header = { readonly headers: readonly string[]; readonly delimiter: string; readonly detected: boolean }

type HeaderOptions = { readonly name: string; readonly format: RecordFormat }

/**
 * The cells of the header as they are written, and the delimiter between them. No more is read than needed. The export is refused if
 * the delimiter is not certain, or if it does not split the header and another one would.
 */
export async function readHeader(open: () => AsyncIterable<Buffer>, { name, format }: HeaderOptions): Promise<Header> {
  if (format.delimiter === 'auto') return detected(open, { name, format })
  const header = await firstRecord(open(), { name, format })
  if (header.damage === 'quote' || header.cells.length === 1) {
    const others = await splitting(open, { name, format })
    const [other] = others
    if (other && others.length === 1) throw wrongDelimiter({ name, format }, other.written)
  }
  return { headers: checkedCells(header, name), delimiter: format.delimiter, detected: false }
}

async function detected(open: () => AsyncIterable<Buffer>, { name, format }: HeaderOptions): Promise<Header> {
  // An export that cannot be read at all fails here, once, with its own reason.
  for await (const _ of open()) break
  const found = await splitting(open, { name, format })
  const [only] = found
  if (only && found.length === 1) return { headers: only.headers, delimiter: only.setting, detected: true }
  checkedCells(await firstRecord(open(), { name, format: { ...format, delimiter: ',' } }), name)
  const which = found.map(({ written, headers }) => `${written} (${headers.length} columns)`).join(' and ')
  throw unreadable(
    `${name}:${format.headerLine}: the delimiter cannot be told from the header: ${which || 'none'} of comma, semicolon, tab and pipe would split it`,
    'write delimiter: with the character between two cells',
  )
}

/** The delimiters that split the header into more than one column, with those columns. */
async function splitting(open: () => AsyncIterable<Buffer>, { name, format }: HeaderOptions) {
  const found = []
  for (const candidate of candidates) {
    const { setting, character } = candidate
    if (setting === format.delimiter || character === format.quote || character === format.escape) continue
    const headers = await headersIfAny(open(), { name, format: { ...format, delimiter: setting } })
    if (headers.length > 1) found.push({ ...candidate, headers })
  }
  return found
}

function wrongDelimiter({ name, format }: HeaderOptions, other: string): Failure {
  const what = `${name}:${format.headerLine}: the configured delimiter '${format.delimiter}' does not split the header`
  return unreadable(what, `did you mean delimiter: ${other}?`)
}

/** The cells of the header; none if it cannot be read with this delimiter. */
async function headersIfAny(chunks: AsyncIterable<Buffer>, options: HeaderOptions): Promise<readonly string[]> {
  try {
    return checkedCells(await firstRecord(chunks, options), options.name)
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}

async function firstRecord(chunks: AsyncIterable<Buffer>, { name, format }: HeaderOptions): Promise<CsvRecord> {
  const parser = new RecordParser(name, format)
  for await (const piece of splitChunks(chunks, pieceBytes)) {
    const header = (await parser.write(piece)).find((record) => !isBlank(record))
    if (header) return header
  }
  const header = (await parser.end()).find((record) => !isBlank(record))
  // Damage says more about the text than a missing line end does.
  if (!header?.damage) parser.checkTerminated()
  if (header) return header
  throw format.headerLine === 1
    ? unreadable(`${name} holds no header`, 'its first line must name the columns')
    : unreadable(`${name} holds nothing from line ${format.headerLine} on`, 'check headerLine')
}

function checkedCells({ cells, line, damage }: CsvRecord, name: string): readonly string[] {
  switch (damage) {
    case 'quote':
      throw unreadable(`${name}:${line}: a quote in the header is not enclosed and doubled`, 'check the quote setting')
    case 'nul':
      throw unreadable(
        `${name}: the header is not in the configured encoding`,
        'it holds NUL bytes; if it is UTF-16, write encoding: utf-16le or utf-16be',
      )
    case 'undecodable':
      throw unreadable(`${name}: the header is not in the configured encoding`, 'check the encoding setting')
    case 'lost':
      throw unreadable(
        `${name}:${line}: the header holds U+FFFD`,
        'it stands for a character that was lost before the export was written',
      )
    case undefined:
      break
    default:
      return damage satisfies never
  }
  if (cells.length > columnLimit)
    throw unreadable(`${name}:${line}: the header has ${cells.length} columns`, `at most ${columnLimit} are read`)
  return cells
}
