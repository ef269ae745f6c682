import { columnFinder } from './headers.ts'
import type { MappableRow } from './rows.ts'

/** The longest text of a group. What follows is cut off. */
const maxGroupLength = 200

/**
 * Binds the column of groups to a header. Its function returns the group that a row states: null if the cell is blank, undefined if the
 * source has no such column, or several. Then the known groups stay, because no plan has to wait for a label.
 */
export function groupReader(
  column: string | undefined,
  headers: readonly string[],
): (row: Pick<MappableRow, 'values'>) => string | null | undefined {
  const match = column === undefined ? null : columnFinder(headers)([column])
  if (match?.kind !== 'one') return () => undefined
  return ({ values }) => {
    const cell = values[match.index]
    return cell === undefined ? undefined : groupText(cell)
  }
}

/** The text by which people are grouped. Blanks around and between words make no other group. */
function groupText(cell: string): string | null {
  const text = cell
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
  return text === '' ? null : [...text].slice(0, maxGroupLength).join('')
}
