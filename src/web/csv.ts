import { escapeText } from '../text/escape.ts'

/** A value of a CSV file; null is an empty cell. */
export type Cell = string | number | boolean | null

/** A text that a spreadsheet takes for a formula, also in the wide forms of East Asian text and behind blanks. */
const formula = /^\s*[=+\-@＝＋－＠]/

/** A table as CSV (RFC 4180, UTF-8). A text that a spreadsheet would run as a formula begins with an apostrophe. */
export function csv(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [header, ...rows].map(csvLine).join('')
}

/** One line of such a table, for a file that is written while it is read. */
export function csvLine(row: readonly Cell[]): string {
  return `${row.map(cell).join(',')}\r\n`
}

function cell(value: Cell): string {
  if (typeof value !== 'string') return String(value ?? '')
  return `"${cellText(value).replaceAll('"', '""')}"`
}

/** What a reader of the CSV finds in the cell of a text. */
export function cellText(value: string): string {
  const text = escapeText(value)
  return formula.test(text) ? `'${text}` : text
}
