import { Failure } from '../../errors.ts'
import { quoted } from '../../identity/lint/quoted.ts'
import { splitChunks } from '../file/chunks.ts'
import { encodingHelp } from '../file/encoding.ts'
import { unreadable } from '../file/failures.ts'
import { type CsvRecord, isBlank, type RecordFormat, RecordParser } from './records.ts'

const columnLimit = 10_000
const pieceBytes = 16 * 1024
/** So many records show how the rows of an export look. */
const recordsTelling = 50

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
    const other = others.length === 1 ? others[0] : undefined
    const splitsRows = other !== undefined && (await splitsRowsBelow(open, { name, format, other }))
    const title = splitsRows ? null : await titleAbove(open, { name, format })
    if (title) throw isTitle({ name, format }, title)
    if (other) throw wrongDelimiter({ name, format }, other.written)
  }
  return { headers: checkedCells(header, name), delimiter: format.delimiter, detected: false }
}

async function detected(open: () => AsyncIterable<Buffer>, { name, format }: HeaderOptions): Promise<Header> {
  // An export that cannot be read at all fails here, once, with its own reason.
  for await (const _ of open()) break
  const found = await splitting(open, { name, format })
  const only = found.length === 1 ? found[0] : undefined
  if (!only || !(await splitsRowsBelow(open, { name, format, other: only }))) {
    const titles = []
    for (const { setting } of candidatesFor(format)) {
      const title = await titleAbove(open, { name, format: { ...format, delimiter: setting } })
      if (title) titles.push(title)
    }
    const [title] = titles
    if (title && titles.length === 1) throw isTitle({ name, format }, title)
  }
  if (only) return { headers: only.headers, delimiter: only.setting, detected: true }
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
  for (const candidate of candidatesFor(format)) {
    const headers = await headersIfAny(open(), { name, format: { ...format, delimiter: candidate.setting } })
    if (headers.length > 1) found.push({ ...candidate, headers })
  }
  return found
}

function characterOf({ delimiter }: RecordFormat): string {
  return delimiter === 'tab' ? '\t' : delimiter
}

function candidatesFor({ delimiter, quote, escape: behind }: RecordFormat) {
  return candidates.filter(
    ({ setting, character }) => setting !== delimiter && character !== quote && character !== behind,
  )
}

/** Whether a delimiter that splits the header splits the rows below it into as many cells, as far as there are rows. */
async function splitsRowsBelow(
  open: () => AsyncIterable<Buffer>,
  {
    name,
    format,
    other,
  }: HeaderOptions & { readonly other: { readonly setting: string; readonly headers: readonly string[] } },
): Promise<boolean> {
  const [, ...below] = await recordsAtStart(open(), { name, format: { ...format, delimiter: other.setting } })
  return below.length === 0 || usualWidth(below) === other.headers.length
}

type Title = { readonly text: string; readonly width: number; readonly headerLine: number }

/** What stands where the header should be, if it is one cell and most rows below have several: the title of a report. */
async function titleAbove(open: () => AsyncIterable<Buffer>, options: HeaderOptions): Promise<Title | null> {
  const [first, ...below] = await recordsAtStart(open(), options)
  const width = usualWidth(below)
  const header = below.find(({ cells }) => cells.length === width)
  if (!header || width < 2 || first?.cells.length !== 1) return null
  const text = await firstLine(open())
  // Where a quote stands in the wrong place, the cells of a header are lost.
  return text.includes(characterOf(options.format)) ? null : { text, width, headerLine: header.line }
}

/** The first line that is not blank, as it is written, or the beginning of it. */
async function firstLine(chunks: AsyncIterable<Buffer>): Promise<string> {
  for await (const piece of splitChunks(chunks, pieceBytes)) {
    const [line = ''] = piece
      .toString('utf8')
      .trimStart()
      .split(/[\r\n]/, 1)
    if (line !== '') return line
  }
  return ''
}

/** The number of cells that more than half of the records have; 0 if there is none. */
function usualWidth(records: readonly CsvRecord[]): number {
  const widths = Map.groupBy(records, ({ cells }) => cells.length)
  const [width = 0] = [...widths].find(([, same]) => same.length * 2 > records.length) ?? []
  return width
}

/** The first records that are not blank; fewer, or none, if they cannot be read. */
async function recordsAtStart(chunks: AsyncIterable<Buffer>, { name, format }: HeaderOptions): Promise<CsvRecord[]> {
  const parser = new RecordParser(name, format)
  const found: CsvRecord[] = []
  try {
    for await (const piece of splitChunks(chunks, pieceBytes)) {
      found.push(...(await parser.write(piece)).filter((record) => !isBlank(record)))
      if (found.length > recordsTelling) return found.slice(0, recordsTelling)
    }
    found.push(...(await parser.end()).filter((record) => !isBlank(record)))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
  return found
}

function isTitle({ name, format }: HeaderOptions, { text, width, headerLine }: Title): Failure {
  const reads = text.includes('@') ? '' : `: it reads ${quoted(text)}`
  const what = `${name}:${format.headerLine}: this line is a title and not the header${reads}`
  return unreadable(
    what,
    `line ${headerLine} is the first with ${width} cells; if it names the columns, write headerLine: ${headerLine}`,
  )
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
      throw unreadable(`${name}: the header is not in the configured encoding`, encodingHelp)
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
