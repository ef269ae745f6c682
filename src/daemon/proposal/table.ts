import { isUtf8 } from 'node:buffer'
import { type CsvRecord, isBlank, RecordParser } from '../../connectors/csv/records.ts'
import { type Head, type ListStart, maxPreviewCells, maxPreviewRows } from '../../connectors/discovery.ts'
import type { ListSettings } from '../../connectors/export/export-start.ts'
import { type EncodingGuess, guessEncoding } from '../../connectors/file/decode/guess-encoding.ts'
import { Encoding, toUtf8 } from '../../connectors/file/encoding.ts'
import { requireTableText } from '../../connectors/file/other-text.ts'
import { checkWidth } from '../../connectors/xlsx/header.ts'
import { readSheetStart } from '../../connectors/xlsx/open-workbook.ts'
import { Failure } from '../../errors.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'

export type { Head }

/** A person's choice of the form of an export, instead of the detected one. */
export type FormChoice = {
  readonly encoding?: string
  readonly delimiter?: string
  readonly headerLine?: number
  /** The name of a sheet, or its number. */
  readonly sheet?: string
  /** A pointer to the list of records in a JSON file. */
  readonly records?: string
  /** Pointers in that file to members about something else, separated by commas. */
  readonly ignoredStatements?: string
}

/** How messages explain to choose another form. */
export type FormHelp = Readonly<
  Record<'encoding' | 'whichEncoding' | 'delimiter' | 'whichDelimiter' | 'whichSheet', string>
>
const helpOfOptions: FormHelp = {
  encoding: 'say --encoding',
  whichEncoding: 'say which one it is with --encoding',
  delimiter: 'say --delimiter',
  whichDelimiter: 'say which one it is with --delimiter',
  whichSheet: 'say which one lists the people with --sheet',
}

/** How an export is written, and its header and first rows. */
export type Table = {
  readonly name: string
  readonly encoding: string
  readonly delimiter: string
  readonly headerLine: number
  readonly linesAfterHeader: number
  readonly lastLine: 'terminated' | 'any'
  readonly headers: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Whether these are all rows of the export. */
  readonly isWhole: boolean
  /** What was detected without certainty, or deserves a look. */
  readonly notes: readonly string[]
  /** Whether the rows are records of a JSON list, which is written in no form that could be chosen. */
  readonly isList?: true
  /** The settings that read the list in an uploaded file. Those of any other list are part of its source. */
  readonly listSettings?: ListSettings
  /** The sheet that was read of a workbook; null: it has only one. */
  readonly workbook?: { readonly sheet: string | null }
}

/** The table of the first records of a list. `listSettings`: of the list in an uploaded file. */
export function tableOfList({ name, headers, rows, isWhole, notes }: ListStart, listSettings?: ListSettings): Table {
  const form = { encoding: 'utf-8', delimiter: '', headerLine: 1, linesAfterHeader: 0, lastLine: 'any' } as const
  return { name, ...form, headers, rows, isWhole, notes, isList: true, ...(listSettings && { listSettings }) }
}

/** Thrown if only a person can tell which encoding is right. */
export class UnclearEncoding extends Failure {
  readonly readings: readonly EncodingGuess[]

  constructor(name: string, readings: readonly EncodingGuess[], help: FormHelp) {
    const options = readings.map(({ encoding, letters }) => `${encoding} (letters ${letters})`).join(' or ')
    super(
      'usage',
      readings.length === 0
        ? `${name} is not UTF-8, and no encoding that is known here reads it well: have it exported as UTF-8, or ${help.whichEncoding}`
        : `${name} is not UTF-8, and can be read as ${options}: look which letters are right, and ${help.whichEncoding}`,
    )
    this.readings = readings
  }
}

/** Thrown if a workbook has several sheets, and nobody says which one is meant. */
export class UnclearSheet extends Failure {
  readonly sheets: readonly string[]

  constructor(name: string, sheets: readonly string[], help: FormHelp) {
    const named = sheets.slice(0, maxSheetsNamed).join(', ')
    super('usage', `${name} has ${sheets.length} sheets (${named}): ${help.whichSheet}`)
    this.sheets = sheets
  }
}

const maxSheetsNamed = 20
/** Maximum number of records from which the delimiter is detected. */
const maxRecordsForDelimiter = 500
const delimiters = [',', ';', 'tab', '|'] as const
const likeData = /@|^[+-]?\d+(?:[.,]\d+)*$|^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}/
const total = /^(?:grand )?(?:total|sum|summe|gesamt|count|anzahl)\b/i

type TableOptions = { readonly help: FormHelp; readonly signal: AbortSignal }

/** Detects how an export is written, from its beginning. Refuses what is not a table with named columns, in a sentence. */
export async function readTable(
  head: Head,
  choice: FormChoice = {},
  { help = helpOfOptions, signal = new AbortController().signal }: Partial<TableOptions> = {},
): Promise<Table> {
  return head.isWorkbook
    ? await readSheetTable(head, choice, { help, signal })
    : await readTextTable(head, choice, help)
}

async function readSheetTable(
  { name, bytes }: Head,
  choice: FormChoice,
  { help, signal }: TableOptions,
): Promise<Table> {
  if (choice.encoding !== undefined || choice.delimiter !== undefined)
    throw new Failure('usage', `${name} is a workbook, which has neither an encoding nor a delimiter`)
  const { sheets, sheet, rows, isAll } = await readSheetStart(bytes, {
    name,
    sheet: choice.sheet,
    maxRows: maxPreviewRows,
    signal,
  })
  if (sheet === null) throw new UnclearSheet(name, sheets, help)
  const usualCells = median(rows.map(({ cells }) => countFilledCells(cells)))
  const header = rows.find(({ cells, line }) =>
    choice.headerLine === undefined ? countFilledCells(cells) * 2 > usualCells : line >= choice.headerLine,
  )
  const width = header?.cells.length ?? 0
  if (header) checkWidth(width, { name, line: header.line })
  const below = header === undefined ? [] : rows.slice(rows.indexOf(header))
  const kept = below.slice(0, 1 + Math.floor(maxPreviewCells / Math.max(1, width)))
  const records = kept.map(({ cells, line }) => ({ cells: paddedTo(width, cells), line, position: line }))
  const isWhole = isAll && kept.length === below.length
  const sheetTable = { name, header: records[0], records, isWhole }
  const form = { encoding: 'utf-8', delimiter: ',', lastLine: 'terminated' } as const
  return {
    ...tableBelow({ ...sheetTable, lineName: 'row', notes: [] }),
    ...form,
    workbook: { sheet: sheets.length > 1 ? sheet : null },
  }
}

async function readTextTable(head: Head, choice: FormChoice, help: FormHelp): Promise<Table> {
  const { name } = head
  if (choice.sheet !== undefined) throw new Failure('usage', `${name} is no workbook, and has no sheet to choose`)
  const encoding = chosenEncoding(choice) ?? encodingInBytes(head) ?? encodingGuessed(head, help)
  const text = await textOf(head, encoding)
  const notes =
    choice.encoding === undefined && !/^utf-/.test(encoding)
      ? [
          `The text is not UTF-8, so it is read as ${encoding}. Check that names look right; otherwise ${help.encoding}.`,
        ]
      : []
  const delimiter = await delimiterOf(head, text, { ...choice, help })
  const { records, isAll, failure } = await recordsOf(head, text, { delimiter, max: maxPreviewRows })
  // Of a longer export, the beginning may end within quotes.
  if (failure !== null && head.isWhole) notes.push(`Only the rows before it were looked at: ${failure.message}.`)
  const width = usualWidth(records)
  const header = headerOf(records, { width, line: choice.headerLine })
  const isWhole = head.isWhole && isAll
  return {
    ...tableBelow({ name, header, records, isWhole, notes, lineName: 'line' }),
    encoding,
    delimiter,
    lastLine: head.hasFinalLineEnd === false ? 'any' : 'terminated',
  }
}

/** A line of text, or a row of a sheet. `position`: its number, with blank ones counted. */
type TableRecord = Pick<CsvRecord, 'cells' | 'line'> & { readonly position: number }

type TextRecord = CsvRecord & TableRecord

type FoundTable = Pick<Table, 'name' | 'isWhole'> & {
  readonly header: TableRecord | undefined
  readonly records: readonly TableRecord[]
  readonly lineName: 'line' | 'row'
  readonly notes: string[]
}

/** The table below a header, with what deserves a look. */
function tableBelow({ name, header, records, isWhole, lineName, notes }: FoundTable) {
  const titled = lineName === 'row' ? 'Row' : 'Line'
  if (header === undefined) throw refusal(`${name} holds no row that names its columns`, 'export it with a header')
  const named = header.cells.filter((cell) => cell !== '')
  if (named.some((cell) => likeData.test(cell.trim())))
    throw refusal(
      `${name}:${header.line}: this ${lineName} is ${lineName === 'row' ? 'one' : 'a row'} of data, and none above it names the columns`,
      'export it with a header',
    )
  const below = records.slice(records.indexOf(header) + 1)
  const repeatCount = Math.max(
    0,
    below.findIndex((record) => !repeats(record, header)),
  )
  const linesAfterHeader = (below[repeatCount - 1] ?? header).position - header.position
  const body = below.slice(repeatCount)
  const again = body.find((record) => namesColumns(record, header))
  if (again !== undefined)
    notes.push(`${titled} ${again.line} names the columns again: have the parts exported one by one.`)
  const rows = again === undefined ? body : body.filter((record) => !namesColumns(record, header))
  const [odd] = rows.filter(({ cells }) => cells.length !== header.cells.length)
  if (odd !== undefined)
    notes.push(`${titled} ${odd.line} has ${cellCount(odd.cells.length)}, the header has ${header.cells.length}.`)
  const last = isWhole ? rows.at(-1) : undefined
  if (last !== undefined && total.test(last.cells[0] ?? ''))
    notes.push(
      `${titled} ${last.line}, the last one, reads like a total. Write footer, so that it is not taken for a person.`,
    )
  if (rows.length === 0)
    notes.push('The export has no rows below its header, so only the names of its columns were looked at.')
  return {
    name,
    headerLine: header.line,
    linesAfterHeader,
    headers: header.cells,
    rows: rows.filter(({ cells }) => cells.length === header.cells.length).map(({ cells }) => cells),
    isWhole,
    notes,
  }
}

function refusal(problem: string, help: string): Failure {
  return new Failure('source_unreadable', `${problem}: ${help}`)
}

function countFilledCells(cells: readonly string[]): number {
  return cells.filter((cell) => cell.trim() !== '').length
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

function paddedTo(width: number, cells: readonly string[]): readonly string[] {
  return Array.from({ length: width }, (_, index) => cells[index] ?? '')
}

function cellCount(count: number): string {
  return count === 1 ? '1 cell' : `${count} cells`
}

function chosenEncoding({ encoding }: FormChoice): string | undefined {
  const { error } = Encoding.optional().safeParse(encoding)
  if (error === undefined) return encoding
  throw new Failure('usage', `${encoding}: ${error.issues.map(({ message }) => message).join('; ')}`)
}

/** UTF-8 or UTF-16, which the bytes show; null: the text has another encoding. */
function encodingInBytes({ name, bytes }: Head): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  const start = bytes.subarray(0, 4096)
  const nuls = [0, 0]
  for (const [at, byte] of start.entries()) if (byte === 0) nuls[at % 2] = (nuls[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = nuls
  if (odd > start.length / 8 && even < odd / 8) return 'utf-16le'
  if (even > start.length / 8 && odd < even / 8) return 'utf-16be'
  if (bytes.includes(0)) throw refusal(`${name} holds NUL bytes, so it is not a text file`, 'have it exported as CSV')
  // The beginning of a longer file may end within a character.
  const isText = [0, 1, 2, 3].some((cut) => isUtf8(bytes.subarray(0, bytes.length - cut)))
  return isText ? 'utf-8' : null
}

function encodingGuessed({ name, bytes, isWhole }: Head, help: FormHelp): string {
  const lines = bytes.subarray(
    0,
    isWhole ? bytes.length : Math.max(bytes.lastIndexOf('\n'), bytes.lastIndexOf('\r')) + 1,
  )
  const readings = guessEncoding(lines)
  const [first] = readings
  if (first === undefined || readings.length > 1) throw new UnclearEncoding(name, readings, help)
  return first.encoding
}

/** The text in UTF-8, up to its last whole line. */
async function textOf({ name, bytes, isWhole }: Head, encoding: string): Promise<Buffer> {
  const even = isWhole ? bytes : bytes.subarray(0, bytes.length - (bytes.length % 2))
  const text = Buffer.concat(await Array.fromAsync(requireTableText(toUtf8(once(even), { name, encoding }), name)))
  if (isWhole) return text
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
  if (end < 0)
    throw refusal(`${name} has no line end in its first ${bytes.length} bytes`, 'check whether it is the export')
  return text.subarray(0, end + 1)
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

/** The delimiter with which most lines have the same number of cells. */
async function delimiterOf(
  head: Head,
  text: Buffer,
  { delimiter, help }: Pick<FormChoice, 'delimiter'> & { readonly help: FormHelp },
): Promise<string> {
  const { name } = head
  const splits: { readonly delimiter: string; readonly width: number; readonly share: number }[] = []
  for (const candidate of delimiter === undefined ? delimiters : [delimiter]) {
    const { records } = await recordsOf(head, text, { delimiter: candidate, max: maxRecordsForDelimiter })
    const width = usualWidth(records)
    const share = records.filter(({ cells }) => cells.length === width).length / Math.max(1, records.length)
    if (width > 1 && share > 0.5) splits.push({ delimiter: candidate, width, share })
  }
  if (splits.length === 0 && text.toString('utf8').trim() === '')
    throw refusal(`${name} holds nothing but blanks`, 'check the export')
  if (splits.length === 0)
    throw refusal(
      `${name} has one column only: no comma, semicolon, tab or pipe splits its lines consistently`,
      `a list of people needs a key and more; ${help.delimiter} if another sign stands between the cells`,
    )
  const [best, ...others] = splits.toSorted((a, b) => b.share * b.width - a.share * a.width)
  const rival = others.find((other) => best !== undefined && other.share > 0.9 && other.width * 2 > best.width)
  if (best === undefined) throw new Error('no delimiter splits the lines')
  if (rival !== undefined)
    throw refusal(
      `${name}: both ${best.delimiter} (${best.width} columns) and ${rival.delimiter} (${rival.width} columns) split its lines alike`,
      help.whichDelimiter,
    )
  return best.delimiter
}

/** The first records that are not blank, up to where they cannot be read with this delimiter. */
async function recordsOf(
  { name }: Head,
  text: Buffer,
  { delimiter, max }: { readonly delimiter: string; readonly max: number },
): Promise<{ readonly records: readonly TextRecord[]; readonly isAll: boolean; readonly failure: Failure | null }> {
  const format = { delimiter, quote: '"', escape: 'doubled', headerLine: 1, lastLine: 'any' } as const
  const parser = new RecordParser(name, format)
  const collected: CsvRecord[] = []
  const pieceBytes = 64 * 1024
  let failure: Failure | null = null
  try {
    for (let start = 0; start < text.length && collected.length <= max; start += pieceBytes)
      collected.push(...(await parser.write(text.subarray(start, start + pieceBytes))))
    if (collected.length <= max) collected.push(...(await parser.end()))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    failure = error
  }
  const records = collected
    .map((record, position) => ({ ...record, position }))
    .filter((record) => !isBlank(record) && record.damage !== 'quote')
  return { records: records.slice(0, max), isAll: failure === null && records.length <= max, failure }
}

function usualWidth(records: readonly CsvRecord[]): number {
  const widths = [...Map.groupBy(records, ({ cells }) => cells.length)]
  const [width = 0] = widths.toSorted(([, a], [, b]) => b.length - a.length)[0] ?? []
  return width
}

/** The first line as wide as the others whose cells are not mostly blank, as those of a title are. */
function headerOf(
  records: readonly TextRecord[],
  { width, line }: { readonly width: number; readonly line: number | undefined },
): TextRecord | undefined {
  if (line !== undefined) return records.find((record) => record.line >= line)
  return records.find(
    ({ cells }) => cells.length === width && cells.filter((cell) => cell.trim() !== '').length * 2 > width,
  )
}

/** Whether a row below the header names the columns once more, perhaps in other words. */
function repeats({ cells }: TableRecord, header: TableRecord): boolean {
  const filled = cells.flatMap((cell, at) => (cell.trim() === '' ? [] : [[cell, header.cells[at] ?? ''] as const]))
  const same = filled.filter(([cell, name]) => normaliseHeader(cell) === normaliseHeader(name))
  return same.length > 1 && same.length * 3 > filled.length
}

/** Whether a later row repeats the names of the columns, in any order. */
function namesColumns({ cells }: TableRecord, header: TableRecord): boolean {
  const [first = '', second = ''] = cells
  if (!header.cells.includes(first) || !header.cells.includes(second)) return false
  const filled = cells.filter((cell) => cell.trim() !== '')
  return filled.length > 1 && filled.every((cell) => header.cells.includes(cell))
}
