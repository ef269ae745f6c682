import type { Origin } from '../identity/record.ts'

/** One row of a source. `values` stand in the order of the reading's headers; every cell is text. */
export type SourceRow = {
  readonly values: readonly string[]
  readonly origin: Origin & { readonly line: number }
  /** Why this row cannot be trusted: as a whole (`column` null; then its key cannot be read either), or in one cell. */
  readonly fault?: { readonly column: number | null; readonly reason: string }
}

/** One opened source, to be read once from start to end. Rows arrive in slices so that a million of them do not cost a million awaits. */
export type Reading = {
  readonly mode: 'snapshot' | 'delta'
  /** When the rows were true, an ISO instant. */
  readonly asOf: string
  /** What was opened, for the run's account: base name of the file, size in bytes. */
  readonly source: { readonly name: string; readonly bytes: number }
  readonly headers: readonly string[]
  /** Ends normally only when the source has been read to its end; otherwise it throws a `source_unreadable` failure. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
}

/** Opens a source: finds it, reads its header, and refuses with a `source_unreadable` failure what is no readable export. */
export type Connector = (options: { readonly now: () => Date; readonly signal: AbortSignal }) => Promise<Reading>
