const maxRows = 1000
const maxCellsPerSlice = 200_000

/** Maximum number of cells of a list together with its details. */
export const maxCells = 500_000_000

/** How many rows below these headers go into one slice, so that wide rows do not fill the memory. */
export function maxRowsPerSlice(headers: readonly string[]): number {
  return Math.max(1, Math.min(maxRows, Math.floor(maxCellsPerSlice / Math.max(1, headers.length))))
}
