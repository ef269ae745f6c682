import type { FilterableRows, Reading, SourceIdentity, SourceRow } from '../connector.ts'

/** An export whose columns are known. Its rows are read when they are requested. */
export type OpenedExport = Pick<Reading, 'sparse' | 'missingIsBlank'> & {
  /** The unchanged cells of the header. */
  readonly headers: readonly string[]
  /** How messages name the columns, if not by the header alone. */
  readonly columnLabels?: readonly string[]
  /** Ends normally only if the export was read to its end and is complete. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** Undefined if records cannot be separated before they are parsed. */
  readonly filterable?: FilterableRows
  /** For a list of records: how many there are, and how its end was recognised. */
  readonly end?: Required<Pick<SourceIdentity, 'records' | 'end'>>
  /** Warnings for an operator. Complete once the rows have been read. */
  readonly warnings: () => readonly string[]
  /** The size of the text in UTF-8, decrypted and unpacked. Complete once the rows have been read. */
  readonly textBytes: () => number
  /** The size of the cells below the header: `letterBytes`. Complete once the rows have been read. */
  readonly cellBytes: () => number
}
