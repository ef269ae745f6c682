/** A part of a record that could not be read, such as `employment`. Its cells are unknown, which is not the same as blank. */
export type MissingDetail = {
  /** The columns below this name, such as `employment.startDate`, belong to it. */
  readonly name: string
  /** Why it is missing. The same text for every row, without personal data. */
  readonly reason: string
  /** Indexes of cells that expressions made, or would have made, of its columns. */
  readonly derivedColumns?: readonly number[]
}

/** Whether a column belongs to a detail. Like headers, both are compared without regard to case and punctuation. */
export function belongsToDetail(column: string, detail: string): boolean {
  const isSame = column.slice(0, detail.length).toLowerCase() === detail.toLowerCase()
  return isSame && !/^[\p{L}\p{N}]/u.test(column.slice(detail.length))
}
