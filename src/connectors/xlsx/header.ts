import { quoted } from '../../identity/lint/quoted.ts'
import { unreadable } from '../file/failures.ts'
import { columnLetters } from './cell-address.ts'
import { isBlankRow, type SheetRow } from './sheet.ts'

const maxColumns = 10_000
/** How many rows are read to see the form of the table. */
export const sampleRows = 50
/** Maximum number of filled cells of a title. */
const maxTitleCells = 2

/** `name`: how failures name the workbook. */
type HeaderOptions = { readonly name: string; readonly headerLine: number }

/** The row that names the columns. The names reach to the last column of the first rows, so that a title hides none of them. */
export type SheetHeader = {
  readonly headers: readonly string[]
  readonly line: number
  /** How many columns are named, or filled in most of the first rows. A row with a cell in the next one may have been shifted. */
  readonly usedColumns: number
}

/** The header among the first rows of a sheet. Refuses a title in its place, and a name that cannot be read. */
export function headerOf(rows: readonly SheetRow[], { name, headerLine }: HeaderOptions): SheetHeader {
  const [header, ...below] = rows.filter((row) => row.line >= headerLine && !isBlankRow(row))
  if (!header)
    throw headerLine === 1
      ? unreadable(`${name} holds no header`, 'the first row of the sheet must name the columns')
      : unreadable(`${name} holds nothing from row ${headerLine} on`, 'check headerLine')
  const title = findTitle(header, below)
  if (title) {
    const { text, row } = title
    const quote = text.includes('@') ? '' : `: it reads ${quoted(text)}`
    throw unreadable(
      `${name}:${header.line}: this row is a title and not the header${quote}`,
      `row ${row.line} is the first with ${countFilledCells(row)} cells; if it names the columns, write headerLine: ${row.line}`,
    )
  }
  const [broken] = header.broken
  if (broken)
    throw unreadable(
      `${name}: row ${header.line}, the header, cannot be read in column ${columnLetters(broken.column)}`,
      broken.reason,
    )
  const width = Math.max(header.cells.length, ...below.map(({ cells }) => cells.length))
  checkWidth(width, { name, line: header.line })
  const headers = [...header.cells, ...Array<string>(width - header.cells.length).fill('')]
  return { headers, line: header.line, usedColumns: Math.max(header.cells.length, usualWidth(below)) }
}

/** The width that more than half of some rows reach. */
function usualWidth(rows: readonly SheetRow[]): number {
  return rows.map(({ cells }) => cells.length).toSorted((a, b) => b - a)[Math.floor(rows.length / 2)] ?? 0
}

/** Refuses a header with more columns than are read. */
export function checkWidth(width: number, { name, line }: { readonly name: string; readonly line: number }): void {
  if (width > maxColumns)
    throw unreadable(`${name}:${line}: the sheet has ${width} columns`, `at most ${maxColumns} are read`)
}

/** The title of a report, often in merged cells, if most rows below have several times as many cells. */
function findTitle(first: SheetRow, below: readonly SheetRow[]) {
  if (countFilledCells(first) > maxTitleCells) return null
  const wide = below.filter((each) => countFilledCells(each) > 2 * countFilledCells(first))
  const [row] = wide
  if (!row || wide.length * 2 <= below.length) return null
  return { text: first.cells.filter((cell) => cell !== '').join(' '), row }
}

function countFilledCells({ cells, broken }: SheetRow): number {
  return cells.filter((cell) => cell !== '').length + broken.length
}
