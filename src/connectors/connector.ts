import type { Origin } from '../identity/record.ts'

/** One row of a source. `values` stand in the order of the reading's headers; every cell is text. */
export type SourceRow = {
  /** undefined: the row says nothing about this column, where a blank would say that there is nothing. Files have no such cells. */
  readonly values: readonly (string | undefined)[]
  readonly origin: Origin
  /** When this row was true (ISO instant), where that is known better than for the reading as a whole. */
  readonly asOf?: string
  /** Why this row cannot be trusted: as a whole (`column` null; then its key cannot be read either), or in one cell. */
  readonly fault?: { readonly column: number | null; readonly reason: string }
}

/** What was read, for the run's account and for the next reading. */
export type SourceIdentity = {
  /** The base name of the file, or what else tells an operator which export it was. Holds no personal value. */
  readonly name: string
  readonly bytes: number
  /** Equal for the same content in the same place, different for anything newer. */
  readonly version: string
  /** What the sender calls this version (an ETag), to ask for a newer one only. */
  readonly validator?: string
  /** Further exports wait behind this one. */
  readonly more?: boolean
}

/** One opened source, to be read once from start to end. Rows arrive in slices so that a million of them do not cost a million awaits. */
export type Reading = {
  readonly mode: 'snapshot' | 'delta'
  /** When the rows were true, an ISO instant. */
  readonly asOf: string
  /** null: there is nothing new. Such a reading is a delta without rows. */
  readonly source: SourceIdentity | null
  readonly headers: readonly string[]
  /** Rows may lack any column, as JSON does: that no row has one is no finding then. */
  readonly sparse?: boolean
  /** Ends normally only when the source has been read to its end and is complete; otherwise it throws a `source_unreadable` failure. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** What an operator should look at; complete once the rows have been read. Positions and reasons, no personal values. */
  readonly warnings?: () => readonly string[]
}

export type OpenOptions = {
  readonly now: () => Date
  readonly signal: AbortSignal
  /** What the last accepted plan of this source was made from. */
  readonly last: SourceIdentity | null
  /** Which of these versions were taken (accepted, or refused by a person) before. */
  readonly taken: (versions: readonly string[]) => Promise<ReadonlySet<string>>
}

/** What became of the plan that was made from a source: it was accepted, or a person refused it. */
export type Decision = 'accepted' | 'refused'

export type Connector = {
  /** Opens the source: finds it, reads its header, and refuses with a `source_unreadable` failure what is no readable, complete export. */
  readonly open: (options: OpenOptions) => Promise<Reading>
  /**
   * Told once a plan was accepted, or refused by a person, what was read for it: time to archive or to move away. Told twice, or
   * after the file has gone, it does no harm.
   */
  readonly settle?: (source: SourceIdentity, decision: Decision) => Promise<void>
  /** Calls `arrived` soon after something new may have come. Disposing ends the watch. */
  readonly watch?: (events: {
    readonly arrived: () => void
    readonly failed: (error: unknown) => void
  }) => Promise<AsyncDisposable>
}

/** A secret as a connector needs it: read anew at every use, so that a replaced file is taken up. */
export type SecretText = { readonly read: () => Promise<string> }

/** What every connector of a file-like source is given besides its settings. */
export type ConnectorPlace = {
  /** What settings name is relative to this folder. */
  readonly baseDir: string
  /** A folder of this connection's own for what is fetched from elsewhere. Made when needed, readable by this account only. */
  readonly spoolDir: string
  /** The secret at a path below the source's settings, such as `password` or `decrypt.privateKey`; null where none is set. */
  readonly secret: (path: string) => SecretText | null
}
