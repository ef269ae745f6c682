import { pluralize } from '../pluralize.ts'
import type { CompiledMapping, Mapping } from '../mapping/mapping.ts'
import type { MappableRow } from '../mapping/rows.ts'
import type { FieldName, Reject, Observation } from '../record.ts'

/** How many people an export must hold before what they all have in common says something about it. */
export const minSampleSize = 10

/** How many people tell enough about how an export is made. What costs time or memory for each of them ends here. */
export const maxSampleSize = 10_000

/** What an export is, as far as checks need to know it. */
export type LintScope = {
  readonly headers: readonly string[]
  /** The header that each mapped field, and the status, is read from. */
  readonly columns: Extract<CompiledMapping, { readonly ok: true }>['columns']
  /** How the dates of the mapped fields are declared; yyyy-MM-dd where nothing is said. */
  readonly dateRules?: Pick<Mapping['fields'], 'startedAt' | 'separatedAt'>
  /** The day of the run (`YYYY-MM-DD`): a leaving date from then on lies ahead. */
  readonly exportDate: string
  /** How many people tell enough about how the export is made. */
  readonly sampleSize: number
  /** What e-mail addresses are compared by. */
  readonly addressOf: (email: string) => string
}

/** What checks need to know of a row that reads as one of the last accepted export did. Rows with equal traits are the same to them. */
export type ReadTraits = {
  /** The person has left, by a date that has come or by a status. */
  readonly left: boolean
  /** Whether the row holds a value of the field; of `separatedAt`, a leaving date. */
  readonly fills: (field: FieldName) => boolean
  /** How many digits the key is made of, and whether the first of them is a zero; 0 for any other key. */
  readonly digits: number
  readonly isPadded: boolean
  /** How many digits the key of the manager has that begins with a zero; 0 for any other one. */
  readonly managerDigits: number
}

/** A row that was left out, as far as checks need to know it. `address`: what its e-mail address is compared by, where that is known. */
export type SparedRow = { readonly traits: ReadTraits; readonly line: number; readonly address: string | null }

export type Found = { readonly message: string; readonly line?: number }

/** One check at work on one export: it is shown every row, and says at the end what it found. */
export type Watch = {
  /** Returns true once no further observation can matter; it is shown no more of them then. */
  readonly see?: (observation: Observation, row: MappableRow) => boolean
  /** Whether observations with these traits need not be shown to it any more; left out: all have to be. `knowsAddress`: of such a row. */
  readonly spares?: (traits: ReadTraits, knowsAddress: boolean) => boolean
  /** Takes so many observations into account that it was not shown. */
  readonly spare?: (traits: ReadTraits, times: number) => void
  /** The same of one, where the order of all observations matters. Returns true once no further one can. */
  readonly spareOne?: (row: SparedRow) => boolean
  readonly seeReject?: (reject: Reject, row: MappableRow) => void
  /** `people` is the number of observations. */
  readonly found: (people: number) => Found | null
}

export function countRows(count: number): string {
  return pluralize(count, 'row')
}

export function column(header: string | undefined): string {
  return `column "${header ?? ''}"`
}

/** Where the cells of a field stand. Its header is several, joined by commas, where it is made of several columns. */
export function indexesOf(header: string, headers: readonly string[]): number[] {
  const index = headers.indexOf(header)
  if (index >= 0) return [index]
  // A header may hold a comma itself, so it is compared with all of them and not split.
  for (const [first, name] of headers.entries()) {
    if (!header.startsWith(`${name}, `)) continue
    const rest = indexesOf(header.slice(name.length + 2), headers)
    if (rest.length > 0) return [first, ...rest]
  }
  return []
}
