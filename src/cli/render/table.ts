import widthOf from 'fast-string-width'
import type { Paint } from '../../text/print.ts'

const gap = 2
/** With less room than this, the last cell of a row gets its own lines. */
const minLastCellWidth = 24
/** Minimum width of a column: nobody reads a cell of a few characters a line. */
const minColumnWidth = 8

type PaintCell = (cell: string, row: number, column: number) => string

/** How many columns of the terminal an indented table has; null if the width does not matter, as in a file. */
export function roomIn({ columns }: Paint, indent = 0): number | null {
  return columns ? columns - indent : null
}

/** The width of a text on a terminal: East Asian characters and pictures take two columns, and colours take none. */
export function displayWidth(text: string): number {
  return widthOf(text)
}

/**
 * Rows of cells as lines, each column as wide as its widest cell. With `room`, lines are no wider than that: the last cell is broken
 * between words, or stands below its row, and then the widest columns are made narrower. Nothing is cut off. Colours are added when
 * the widths are known.
 */
export function alignColumns(
  rows: readonly (readonly string[])[],
  paint: PaintCell,
  room: number | null = null,
): string[] {
  const { widths, isStacked } = computeLayout(naturalWidths(rows), room)
  const last = widths.length - 1
  return rows.flatMap((row, at) => {
    const beside = isStacked ? row.slice(0, last) : row
    const cells = beside.map((cell, column) => breakCell(cell, widths[column] ?? 0))
    const height = Math.max(1, ...cells.map((cell) => cell.length))
    const lines = Array.from({ length: height }, (_, line) =>
      cells
        .map((cell, column) => paintCell(cell[line] ?? '', at, column, column === row.length - 1))
        .join(' '.repeat(gap)),
    )
    const below = isStacked ? breakCell(row[last] ?? '', widths[last] ?? 0).filter((line) => line !== '') : []
    return [...lines, ...below.map((line) => ' '.repeat(gap) + paint(line, at, last))].map((line) => line.trimEnd())
  })

  function paintCell(text: string, row: number, column: number, isLast: boolean): string {
    const padding = isLast ? 0 : Math.max(0, (widths[column] ?? 0) - displayWidth(text))
    return paint(text, row, column) + ' '.repeat(padding)
  }
}

/** A table below a line with the names of its columns. */
export function tableLines(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string[] {
  return alignColumns([head, ...rows], (cell, row) => (row === 0 ? paint('bold', cell) : cell), roomIn(paint))
}

function naturalWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, displayWidth(cell))
  return widths
}

function computeLayout(natural: readonly number[], room: number | null): { widths: number[]; isStacked: boolean } {
  const widths = [...natural]
  const last = widths.length - 1
  if (room === null || totalWidth(widths) <= room || last < 1) return { widths, isStacked: false }
  const remaining = room - totalWidth(widths.slice(0, last)) - gap
  if (remaining >= Math.min(minLastCellWidth, widths[last] ?? 0)) {
    widths[last] = remaining
    return { widths, isStacked: false }
  }
  widths[last] = Math.max(minColumnWidth, room - gap)
  for (;;) {
    const beside = widths.slice(0, last)
    const widest = beside.indexOf(Math.max(...beside))
    const width = beside[widest] ?? 0
    if (totalWidth(beside) <= room || width <= minColumnWidth) return { widths, isStacked: true }
    widths[widest] = width - 1
  }
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, widths.length - 1)
}

/** A cell as lines of at most this width. A longer word is broken between its characters. */
function breakCell(cell: string, width: number): string[] {
  if (displayWidth(cell) <= width) return [cell]
  const lines: string[] = []
  for (const word of cell.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && displayWidth(line) + 1 + displayWidth(word) <= width)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(...splitWord(word, width))
  }
  return lines
}

function splitWord(word: string, width: number): string[] {
  if (displayWidth(word) <= width) return [word]
  const result = ['']
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    const piece = result.at(-1) ?? ''
    if (piece === '' || displayWidth(piece + segment) <= width) result[result.length - 1] = piece + segment
    else result.push(segment)
  }
  return result
}
