const maxRows = 1000
const maxCells = 200_000

/** How many rows below these headers go into one slice, so that wide rows do not fill the memory. */
export function maxRowsPerSlice(headers: readonly string[]): number {
  return Math.max(1, Math.min(maxRows, Math.floor(maxCells / Math.max(1, headers.length))))
}
