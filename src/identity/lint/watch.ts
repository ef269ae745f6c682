import type { CompiledMapping } from '../mapping/mapping.ts'
import type { MappableRow } from '../mapping/rows.ts'
import type { Reject, Sighting } from '../record.ts'

/** How many people an export must hold before what they all have in common says something about it. */
export const fewestTelling = 10

/** How many people tell enough about how an export is made. What costs time or memory for each of them ends here. */
export const mostTelling = 10_000

/** What an export is, as far as checks need to know it. */
export type LintScope = {
  readonly headers: readonly string[]
  /** The header that each mapped field, and the status, is read from. */
  readonly columns: Extract<CompiledMapping, { readonly ok: true }>['columns']
  /** The day of the run (`YYYY-MM-DD`): a leaving date from then on lies ahead. */
  readonly exportDate: string
}

export type Found = { readonly message: string; readonly line?: number }

/** One check at work on one export: it is shown every row, and says at the end what it found. */
export type Watch = {
  /** Returns true once no further sighting can matter; it is shown no more of them then. */
  readonly see?: (sighting: Sighting, row: MappableRow) => boolean
  readonly seeReject?: (reject: Reject, row: MappableRow) => void
  /** `people` is the number of sightings. */
  readonly found: (people: number) => Found | null
}

export function countPeople(count: number): string {
  return count === 1 ? '1 person' : `${count} people`
}

export function countRows(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`
}

export function column(header: string | undefined): string {
  return `column "${header ?? ''}"`
}

/** Where the cells of a field stand. Its header is several, joined by commas, where it is made of several columns. */
export function indexesOf(header: string, headers: readonly string[]): number[] {
  const names = headers.includes(header) ? [header] : header.split(', ')
  return names.map((name) => headers.indexOf(name)).filter((index) => index >= 0)
}
