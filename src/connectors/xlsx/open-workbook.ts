import { quoted } from '../../identity/lint/quoted.ts'
import { mostSimilar } from '../../identity/mapping/headers.ts'
import { pluralize } from '../../identity/pluralize.ts'
import { cellBytes } from '../cell-size.ts'
import type { ConnectorContext, SourceRow } from '../connector.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import type { OpenedExport } from '../file/opened-export.ts'
import { Tail } from '../file/tail.ts'
import { maxRowsPerSlice } from '../json/slices.ts'
import { type Archive, type ArchiveBytes, openArchive } from './archive.ts'
import { locateArchive } from './bytes.ts'
import { columnLetters, maxRows as lastSheetRow, maxColumns } from './cell-address.ts'
import type { CellContext } from './cells.ts'
import { headerOf, type SheetHeader, sampleRows } from './header.ts'
import { readWorkbook, type Sheet, type Workbook } from './package.ts'
import { readSharedStrings, SharedStrings } from './shared-strings.ts'
import { isBlankRow, type MergedCells, readSheet, type SheetRow, type SheetToRead } from './sheet.ts'
import { readStyles } from './styles.ts'

/** Cells that share a text fill the memory with few bytes of the sheet. */
const maxCharactersPerSlice = 1024 * 1024
/** How many cells and characters of first rows are kept in memory. */
const maxFirstCells = 2_000_000
const maxFirstCharacters = 64 * 1024 * 1024
const maxSheetsNamed = 10
/** How large a part of a workbook may be of which only the start is read. */
const maxUnpackedStart = 1024 ** 3

type OpenOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

/** Reads the header of a sheet. Refuses a workbook that changes before its rows are read. */
export async function openWorkbook(
  file: ExportFile,
  format: ExportFormat,
  options: OpenOptions,
): Promise<OpenedExport> {
  const { name } = file
  const source = await locateArchive(file, format, options)
  const opened = await openSheet(source, format)
  const { header, sheet } = opened
  const warnings: string[] = []
  let textBytes = 0
  let letters = 0
  async function* rows() {
    textBytes = 0
    letters = 0
    let lastLine = 0
    await using archive = await openArchive(source)
    const content = readSheet(archive, { ...sheet, width: Math.max(header.headers.length, header.usedColumns + 1) })
    for await (const slice of rowsBelow(content.rows, { name, format, header, warnings })) {
      letters += cellBytes(slice)
      lastLine = slice.at(-1)?.origin.line ?? lastLine
      yield slice
    }
    refuseMerged(content.merged, { name, format, header, lastLine })
    if (lastLine === lastSheetRow)
      throw unreadable(
        `${name} has a person in the last row that a sheet can have`,
        'it was cut off there: have it sent as CSV',
      )
    await archive.checkUnchanged()
    textBytes = content.bytes()
  }
  return {
    headers: header.headers,
    columnLabels: header.headers.map((text, column) => `${columnLetters(column)} / ${text}`),
    rows: { [Symbol.asyncIterator]: rows },
    warnings: () => warnings,
    textBytes: () => textBytes,
    cellBytes: () => letters,
  }
}

/** The first rows of a sheet, for a proposal how to read it. */
type SheetStart = {
  readonly sheets: readonly string[]
  /** The sheet of the rows; null: there are several, and none is named. */
  readonly sheet: string | null
  readonly rows: readonly SheetRow[]
  readonly isAll: boolean
}

/** `sheet`: the name of a sheet or, if none has that name, its number. */
type StartOptions = {
  readonly name: string
  readonly sheet: string | undefined
  readonly maxRows: number
  readonly signal: AbortSignal
}

/** Reads the first rows of a sheet that are not blank from the bytes of a workbook. */
export async function readSheetStart(bytes: Buffer, options: StartOptions): Promise<SheetStart> {
  const { name, sheet, maxRows, signal } = options
  await using archive = await openArchive({ name, bytes, unpackedBytes: maxUnpackedStart, signal })
  const workbook = await readWorkbook(archive)
  const sheets = workbook.sheets.map((one) => one.name)
  if (sheet === undefined && sheets.length > 1) return { sheets, sheet: null, rows: [], isAll: false }
  const chosen = chooseSheet(workbook, { name, sheet: parseSheetChoice(sheet, sheets) })
  const context = await readContext(archive, workbook)
  const { rows, isAll } = await firstRows(archive, { part: chosen.part, context, width: maxColumns }, maxRows)
  return { sheets, sheet: chosen.name, rows, isAll }
}

function parseSheetChoice(sheet: string | undefined, names: readonly string[]): ExportFormat['sheet'] {
  if (sheet === undefined || names.includes(sheet) || !/^\d{1,5}$/.test(sheet)) return sheet
  return Number(sheet)
}

type OpenedSheet = { readonly header: SheetHeader; readonly sheet: Omit<SheetToRead, 'width'> }

async function openSheet(source: ArchiveBytes, { sheet, headerLine }: ExportFormat): Promise<OpenedSheet> {
  const { name } = source
  await using archive = await openArchive(source)
  const workbook = await readWorkbook(archive)
  const { part } = chooseSheet(workbook, { name, sheet })
  const context = await readContext(archive, workbook)
  const { rows } = await firstRows(archive, { part, context, width: maxColumns }, sampleRows, headerLine)
  return { header: headerOf(rows, { name, headerLine }), sheet: { part, context } }
}

async function readContext(archive: Archive, workbook: Workbook): Promise<CellContext> {
  const { sharedStrings, styles, isFrom1904, isUncalculated } = workbook
  const strings = sharedStrings === null ? new SharedStrings() : await readSharedStrings(archive, sharedStrings)
  return { strings, styles: styles === null ? [] : await readStyles(archive, styles), isFrom1904, isUncalculated }
}

type SheetChoice = { readonly name: string; readonly sheet: ExportFormat['sheet'] }

function chooseSheet({ sheets }: Workbook, { name, sheet }: SheetChoice): Sheet {
  const [first] = sheets
  if (sheet === undefined) {
    if (first && sheets.length === 1) return first
    throw unreadable(`${name} has ${sheets.length} sheets: ${namesOf(sheets)}`, 'name the one of the people with sheet')
  }
  const chosen = sheets.find((one) => (typeof sheet === 'number' ? one.number : one.name) === sheet)
  if (chosen) return chosen
  const label = typeof sheet === 'number' ? `number ${sheet} with rows` : quoted(sheet)
  const problem = `${name} has no sheet ${label}; it has ${pluralize(sheets.length, 'sheet')}: ${namesOf(sheets)}`
  const similar = mostSimilar(
    [String(sheet)],
    sheets.map((one) => one.name),
  )
  throw unreadable(problem, similar === null ? 'check sheet' : `did you mean sheet: '${similar}'?`)
}

function namesOf(sheets: readonly Sheet[]): string {
  const names = sheets.slice(0, maxSheetsNamed).map((sheet) => quoted(sheet.name))
  return `${names.join(', ')}${sheets.length > maxSheetsNamed ? ' and others' : ''}`
}

/** The first rows from a line on that are not blank, as many as the memory should hold. */
async function firstRows(archive: Archive, sheet: SheetToRead, maxRows: number, fromLine = 1) {
  const rows: SheetRow[] = []
  let cells = 0
  let characters = 0
  for await (const slice of readSheet(archive, sheet).rows) {
    for (const row of slice) {
      if (row.line < fromLine || isBlankRow(row)) continue
      cells += row.cells.length
      characters += row.characters
      const isFull = rows.length === maxRows || cells > maxFirstCells || characters > maxFirstCharacters
      if (isFull) return { rows, isAll: false }
      rows.push(row)
    }
  }
  return { rows, isAll: true }
}

type RowsOptions = {
  readonly name: string
  readonly format: ExportFormat
  readonly header: SheetHeader
  readonly warnings: string[]
}

/** The rows below the header, without blank ones, the footer and the trailer. */
async function* rowsBelow(
  slices: AsyncIterable<readonly SheetRow[]>,
  { name, format, header, warnings }: RowsOptions,
): AsyncGenerator<readonly SourceRow[]> {
  const { headers, line } = header
  const tail = format.footer || format.trailer ? new Tail<SheetRow>(name, format) : null
  const maxRowsInSlice = maxRowsPerSlice(headers)
  const firstLine = line + format.linesAfterHeader + 1
  let rows: SourceRow[] = []
  let characters = 0
  for await (const slice of slices) {
    for (const read of slice) {
      const row = read.line < firstLine || isBlankRow(read) ? undefined : tail ? tail.push(read) : read
      if (row) rows.push(toSourceRow(row, name, header))
      characters += row?.characters ?? 0
      if (rows.length < maxRowsInSlice && characters < maxCharactersPerSlice) continue
      yield rows
      rows = []
      characters = 0
    }
  }
  warnings.push(...(tail?.end() ?? []))
  if (rows.length > 0) yield rows
}

function toSourceRow({ cells, line, broken }: SheetRow, name: string, header: SheetHeader): SourceRow {
  const { usedColumns } = header
  const width = header.headers.length
  const values = cells.slice(0, width)
  while (values.length < width) values.push('')
  const origin = { file: name, line }
  if ((cells[usedColumns] ?? '') !== '' || broken.some(({ column }) => column === usedColumns)) {
    const reason = `the row has a cell in column ${columnLetters(usedColumns)}, beside the last column with a name, so it may have been shifted`
    return { values, origin, fault: { column: null, reason } }
  }
  return { values, origin, ...(broken.length > 0 && { cellFaults: broken }) }
}

type MergedOptions = Pick<RowsOptions, 'name' | 'format' | 'header'> & {
  /** The last row of a person. Footers below it may be merged. */
  readonly lastLine: number
}

/** Of merged cells only the first has a value; the others of a person would state that there is none. */
function refuseMerged(merged: readonly MergedCells[], { name, format, header, lastLine }: MergedOptions): void {
  const lastHeaderLine = header.line + format.linesAfterHeader
  const first = merged.find(({ firstRow, lastRow, firstColumn, lastColumn }) => {
    const columns = Math.min(lastColumn, header.headers.length - 1) - firstColumn + 1
    const isOfPeople = lastRow > lastHeaderLine && firstRow <= lastLine
    return isOfPeople && columns > 0 && columns * (lastRow - firstRow + 1) > 1
  })
  if (!first) return
  throw unreadable(
    `${name}: the cells ${first.text} are merged, so that only ${columnLetters(first.firstColumn)}${first.firstRow} has their value`,
    'have every cell filled, or write footer if they are no people',
  )
}
