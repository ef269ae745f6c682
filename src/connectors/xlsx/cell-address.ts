const letterCount = 26
const codeOfA = 65

/** How many rows Excel has. */
export const maxRows = 1_048_576
/** How many columns Excel has. */
export const maxColumns = 16_384

/** A cell in its sheet. `row` counts from 1, `column` from 0. */
type CellAddress = { readonly row: number; readonly column: number }

/** The address that a text such as `C17` means; null if it means none in a sheet. */
export function parseAddress(text: string): CellAddress | null {
  let column = 0
  let at = 0
  for (; at < text.length; at += 1) {
    const letter = text.charCodeAt(at) - codeOfA
    if (letter < 0 || letter >= letterCount) break
    column = column * letterCount + letter + 1
    if (column > maxColumns) return null
  }
  const row = parseRowNumber(text.slice(at))
  return at === 0 || row === null ? null : { row, column: column - 1 }
}

/** The number of a row; null if there is no such row in a sheet. */
export function parseRowNumber(text: string): number | null {
  if (!/^[1-9]\d{0,6}$/.test(text)) return null
  const row = Number(text)
  return row <= maxRows ? row : null
}

/** The letters of a column that is counted from 0: A, B, … Z, AA. */
export function columnLetters(column: number): string {
  let letters = ''
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / letterCount))
    letters = String.fromCharCode(codeOfA + ((rest - 1) % letterCount)) + letters
  return letters
}
