import type { CompiledMapping, Mapping } from '../mapping/mapping.ts'
import type { MappableRow } from '../mapping/rows.ts'
import { pluralize } from '../pluralize.ts'
import type { FieldName, Observation, Reject } from '../record.ts'

/** Minimum number of people in an export before what they all have in common says something about it. */
export const minSampleSize = 10

/** Maximum number of people looked at by checks that take time or memory for each of them. */
export const maxSampleSize = 10_000

/** An export, as far as checks need it. */
export type LintScope = {
  readonly headers: readonly string[]
  /** The header that each mapped name is read from. */
  readonly columns: Extract<CompiledMapping, { readonly ok: true }>['columns']
  /** How the dates of the mapped fields are declared. Default: yyyy-MM-dd. */
  readonly dateRules?: Pick<Mapping['fields'], 'startedAt' | 'separatedAt'>
  /** The day of the run (`YYYY-MM-DD`). A leaving date on or after it is in the future. */
  readonly exportDate: string
  /** How many people are enough to see how the export is made. */
  readonly sampleSize: number
  /** The form of an e-mail address for comparison. */
  readonly addressOf: (email: string) => string
}

/** The traits of a row that is not available itself. The checks treat rows with equal traits alike. */
export type ReadTraits = {
  /** Whether the person has left, by a date that has come or by a status. */
  readonly isLeaver: boolean
  /** Whether the row has a value for the field; for `separatedAt`, a leaving date. */
  readonly fills: (field: FieldName) => boolean
  /** The number of digits of a key that consists of digits, and whether it begins with a zero; 0 for any other key. */
  readonly digits: number
  readonly isPadded: boolean
  /** How many digits the key of the manager has if it begins with a zero; 0 for any other key. */
  readonly managerDigits: number
}

/** A row by its traits. `address`: its e-mail address in the form for comparison, if known. */
export type TraitsRow = { readonly traits: ReadTraits; readonly line: number; readonly address: string | null }

/** The finding of a check. `line`: the line of an example. */
export type Finding = { readonly message: string; readonly line?: number }

/** How a check handles rows by their traits alone. */
type TraitsUse = {
  /** Whether the check can do without the row itself. `hasAddress`: its e-mail address is known too. */
  readonly areEnough: (traits: ReadTraits, hasAddress: boolean) => boolean
  /** Adds this many rows by their traits. Left out: they change no finding. */
  readonly add?: (traits: ReadTraits, rows: number) => void
  /** Adds one row if the order of all rows matters. Returns true once no further row can change the finding. */
  readonly addInOrder?: (row: TraitsRow) => boolean
}

/** One check of one export. It receives all rows and reports its finding at the end. */
export type Check = {
  /** Returns true once no further row can change the finding; the check then receives no more rows. */
  readonly addRow?: (observation: Observation, row: MappableRow) => boolean
  readonly addReject?: (reject: Reject, row: MappableRow) => void
  /** Left out: the check needs every row itself. */
  readonly traits?: TraitsUse
  /** `people` is the number of observations. */
  readonly finding: (people: number) => Finding | null
}

/** The number of rows with its noun. */
export function countRows(count: number): string {
  return pluralize(count, 'row')
}

/** Names a column in a message. */
export function column(header: string | undefined): string {
  return `column "${header ?? ''}"`
}

/** The indexes of a field's cells in a row. `header`: the headers of its columns, joined by commas. */
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
