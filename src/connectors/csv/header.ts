import { Failure } from '../../errors.ts'
import { quoted } from '../../identity/lint/quoted.ts'
import { splitChunks } from '../file/chunks.ts'
import { encodingHelp } from '../file/encoding.ts'
import { unreadable } from '../file/failures.ts'
import { type CsvRecord, isBlank, type RecordFormat, RecordParser } from './records.ts'

const maxColumns = 10_000
const maxPieceBytes = 16 * 1024
/** How many records are read to see the format of the rows. */
const sampleRecords = 50

/** Delimiters that are tried. `written`: as the configuration writes them. */
const candidates = [
  { setting: ',', written: "','", character: ',' },
  { setting: ';', written: "';'", character: ';' },
  { setting: 'tab', written: 'tab', character: '\t' },
  { setting: '|', written: "'|'", character: '|' },
] as const

/** `isDetected`: the delimiter was not configured. */
type Header = { readonly headers: readonly string[]; readonly delimiter: string; readonly isDetected: boolean }

/** Opens the text again from its first line that may be the header. */
type OpenText = () => AsyncIterable<Buffer>

type HeaderOptions = { readonly name: string; readonly format: RecordFormat }

/**
 * The unchanged cells of the header, and the delimiter. Reads no more than needed. Refuses an export whose delimiter is not
 * certain, or does not split the header while another one would.
 */
export async function readHeader(open: OpenText, { name, format }: HeaderOptions): Promise<Header> {
  if (format.delimiter === 'auto') return detectHeader(open, { name, format })
  const header = await firstRecord(open(), { name, format })
  if (header.damage === 'quote' || header.cells.length === 1) {
    const others = await findDelimiters(open, { name, format })
    const other = others.length === 1 ? others[0] : undefined
    const splitsRows = other !== undefined && (await splitsRowsBelow(open, { name, format }, other))
    const title = splitsRows ? null : await findTitle(open, { name, format })
    if (title) throw titleFailure({ name, format }, title)
    if (other) throw delimiterFailure({ name, format }, other.written)
  }
  return { headers: checkedCells(header, name), delimiter: format.delimiter, isDetected: false }
}

async function detectHeader(open: OpenText, { name, format }: HeaderOptions): Promise<Header> {
  // An unreadable export fails here, once, with its own reason.
  for await (const _ of open()) break
  const matches = await findDelimiters(open, { name, format })
  const only = matches.length === 1 ? matches[0] : undefined
  if (!only || !(await splitsRowsBelow(open, { name, format }, only))) {
    const titles = []
    for (const { setting } of candidatesFor(format)) {
      const title = await findTitle(open, { name, format: { ...format, delimiter: setting } })
      if (title) titles.push(title)
    }
    const [title] = titles
    if (title && titles.length === 1) throw titleFailure({ name, format }, title)
  }
  if (only) return { headers: only.headers, delimiter: only.setting, isDetected: true }
  checkedCells(await firstRecord(open(), { name, format: { ...format, delimiter: ',' } }), name)
  const splitting = matches.map(({ written, headers }) => `${written} (${headers.length} columns)`).join(' and ')
  throw unreadable(
    `${name}:${format.headerLine}: the delimiter cannot be detected in the header: ${splitting || 'none'} of comma, semicolon, tab and pipe would split it`,
    'write delimiter: with the character between two cells',
  )
}

/** The delimiters that split the header into more than one column, with those columns. */
async function findDelimiters(open: OpenText, { name, format }: HeaderOptions) {
  const matches = []
  for (const candidate of candidatesFor(format)) {
    const headers = await tryHeaders(open(), { name, format: { ...format, delimiter: candidate.setting } })
    if (headers.length > 1) matches.push({ ...candidate, headers })
  }
  return matches
}

function delimiterCharacter({ delimiter }: RecordFormat): string {
  return delimiter === 'tab' ? '\t' : delimiter
}

function candidatesFor({ delimiter, quote, escape: escapeSetting }: RecordFormat) {
  return candidates.filter(
    ({ setting, character }) => setting !== delimiter && character !== quote && character !== escapeSetting,
  )
}

type SplitHeader = { readonly setting: string; readonly headers: readonly string[] }

/** Whether a delimiter that splits the header splits most rows below it into as many cells, or there are no rows. */
async function splitsRowsBelow(open: OpenText, { name, format }: HeaderOptions, other: SplitHeader): Promise<boolean> {
  const [, ...below] = await recordsAtStart(open(), { name, format: { ...format, delimiter: other.setting } })
  return below.length === 0 || usualWidth(below) === other.headers.length
}

/** A line above the header. `headerLine`: where the header seems to be. */
type Title = { readonly text: string; readonly width: number; readonly headerLine: number }

/** The title of a report, if the line of the header has one cell and most rows below have several; null otherwise. */
async function findTitle(open: OpenText, options: HeaderOptions): Promise<Title | null> {
  const [first, ...below] = await recordsAtStart(open(), options)
  const width = usualWidth(below)
  const header = below.find(({ cells }) => cells.length === width)
  if (!header || width < 2 || first?.cells.length !== 1) return null
  const text = await firstLine(open())
  // A misplaced quote loses the cells of a header, which then looks like a title.
  return text.includes(delimiterCharacter(options.format)) ? null : { text, width, headerLine: header.line }
}

/** The first line that is not blank, or the beginning of it. */
async function firstLine(chunks: AsyncIterable<Buffer>): Promise<string> {
  for await (const piece of splitChunks(chunks, maxPieceBytes)) {
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
  const records: CsvRecord[] = []
  try {
    for await (const piece of splitChunks(chunks, maxPieceBytes)) {
      records.push(...(await parser.write(piece)).filter((record) => !isBlank(record)))
      if (records.length > sampleRecords) return records.slice(0, sampleRecords)
    }
    records.push(...(await parser.end()).filter((record) => !isBlank(record)))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
  return records
}

function titleFailure({ name, format }: HeaderOptions, { text, width, headerLine }: Title): Failure {
  const quote = text.includes('@') ? '' : `: it reads ${quoted(text)}`
  const problem = `${name}:${format.headerLine}: this line is a title and not the header${quote}`
  return unreadable(
    problem,
    `line ${headerLine} is the first with ${width} cells; if it names the columns, write headerLine: ${headerLine}`,
  )
}

function delimiterFailure({ name, format }: HeaderOptions, other: string): Failure {
  const problem = `${name}:${format.headerLine}: the configured delimiter '${format.delimiter}' does not split the header`
  return unreadable(problem, `did you mean delimiter: ${other}?`)
}

/** The cells of the header; none if it cannot be read with this delimiter. */
async function tryHeaders(chunks: AsyncIterable<Buffer>, options: HeaderOptions): Promise<readonly string[]> {
  try {
    return checkedCells(await firstRecord(chunks, options), options.name)
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}

async function firstRecord(chunks: AsyncIterable<Buffer>, { name, format }: HeaderOptions): Promise<CsvRecord> {
  const parser = new RecordParser(name, format)
  for await (const piece of splitChunks(chunks, maxPieceBytes)) {
    const header = (await parser.write(piece)).find((record) => !isBlank(record))
    if (header) return header
  }
  const header = (await parser.end()).find((record) => !isBlank(record))
  // Damage explains more than a missing line end.
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
  if (cells.length > maxColumns)
    throw unreadable(`${name}:${line}: the header has ${cells.length} columns`, `at most ${maxColumns} are read`)
  return cells
}
