import { pluralize } from '../pluralize.ts'
import type { CompiledMapping, Mapping } from '../mapping/mapping.ts'
import type { MappableRow } from '../mapping/rows.ts'
import type { FieldName, Reject, Observation } from '../record.ts'

/** Minimum number of people in an export before what they all have in common says something about it. */
export const minSampleSize = 10

/** Maximum number of people looked at by checks that take time or memory for each of them. */
export const maxSampleSize = 10_000

/** What checks need to know of an export. */
export type LintScope = {
  readonly headers: readonly string[]
  /** The header that each mapped field, and the status, is read from. */
  readonly columns: Extract<CompiledMapping, { readonly ok: true }>['columns']
  /** How the dates of the mapped fields are declared; yyyy-MM-dd where nothing is said. */
  readonly dateRules?: Pick<Mapping['fields'], 'startedAt' | 'separatedAt'>
  /** The day of the run (`YYYY-MM-DD`): a leaving date from then on lies ahead. */
  readonly exportDate: string
  /** How many people are enough to see how the export is made. */
  readonly sampleSize: number
  /** What e-mail addresses are compared by. */
  readonly addressOf: (email: string) => string
}

/** What checks need to know of a row that is not at hand itself. Rows with equal traits are the same to them. */
export type ReadTraits = {
  /** The person has left, by a date that has come or by a status. */
  readonly isLeaver: boolean
  /** Whether the row holds a value of the field; of `separatedAt`, a leaving date. */
  readonly fills: (field: FieldName) => boolean
  /** How many digits the key is made of, and whether the first of them is a zero; 0 for any other key. */
  readonly digits: number
  readonly isPadded: boolean
  /** How many digits the key of the manager has if it begins with a zero; 0 for any other key. */
  readonly managerDigits: number
}

/** A row by its traits. `address`: what its e-mail address is compared by, if that is known. */
export type TraitsRow = { readonly traits: ReadTraits; readonly line: number; readonly address: string | null }

/** What a check found. `line`: the line of an example. */
export type Finding = { readonly message: string; readonly line?: number }

/** How a check takes rows of which only the traits are at hand. */
type TraitsUse = {
  /** Whether the traits are enough, so that the check does not need such a row itself. `hasAddress`: its e-mail address is known too. */
  readonly areEnough: (traits: ReadTraits, hasAddress: boolean) => boolean
  /** Adds this many rows by their traits. Left out: they change no finding. */
  readonly add?: (traits: ReadTraits, rows: number) => void
  /** Adds one row, where the order of all rows matters. Returns true once no further row can change the finding. */
  readonly addInOrder?: (row: TraitsRow) => boolean
}

/** One check of one export: it takes all rows, and reports at the end what it found. */
export type Check = {
  /** Returns true once no further row can change the finding; the check is given no more of them then. */
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
