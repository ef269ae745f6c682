import { normaliseHeader } from './headers.ts'

/** A part of a record that could not be read, such as `employment`. Its cells are unknown, which is not the same as blank. */
export type MissingDetail = {
  /** The columns below this name, such as `employment.startDate`, belong to it. */
  readonly name: string
  /** Why it is missing. The same text for every row, without personal data. */
  readonly reason: string
  /** Indexes of cells that expressions made, or would have made, of its columns. */
  readonly derivedColumns?: readonly number[]
}

/** Whether a column of the source belongs to a detail: the first name of its path is that of the detail. */
export function isColumnOfDetail(column: string, detail: string): boolean {
  const [first = ''] = column.split('.', 1)
  return normaliseHeader(first) === normaliseHeader(detail)
}

/** Whether a name of the mapping that matches no column may mean one of a detail, such as JOB_TITLE for job.title. */
export function mayNameDetail(name: string, detail: string): boolean {
  if (isColumnOfDetail(name, detail)) return true
  const startsAlike = name.slice(0, detail.length).toLowerCase() === detail.toLowerCase()
  return startsAlike && !/^[\p{L}\p{N}]/u.test(name.slice(detail.length))
}
