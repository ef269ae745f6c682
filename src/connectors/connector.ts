import type { Origin } from '../identity/record.ts'

/** One row of a source. The `values` have the order of the reading's headers, and every cell is text. */
export type SourceRow = {
  /** undefined means that the row says nothing about this column; a blank says that there is nothing. Files have no undefined cells. */
  readonly values: readonly (string | undefined)[]
  /** The undefined cells where a JSON record holds something of another shape, such as a list for a text: neither a text nor missing. */
  readonly nonTextColumns?: readonly number[]
  readonly origin: Origin
  /** When this row was true (ISO instant), if that is known more exactly than for the whole reading. */
  readonly asOf?: string
  /** Set where the row takes effect later than it was stated, or says of no readable time when it does. Its cells can be used. */
  readonly timing?: RowTiming
  /** Why this row cannot be trusted. If `column` is null, the whole row cannot be trusted, and its key cannot be read either. */
  readonly fault?: { readonly column: number | null; readonly reason: string }
}

/** How the own time of an event stands to the time at which it was stated. Instants are ISO. */
export type RowTiming = {
  readonly statedAt: string
  /** When it takes effect, which is later; null: its time cannot be read. */
  readonly effectiveAt: string | null
  /** Why it cannot take effect yet; null: its time has come. */
  readonly reason: string | null
}

/** What was read. It goes into the record of the run, and back to the connector once the plan is decided. */
export type SourceIdentity = {
  /** Tells an operator which export it was: the base name of the file, for example. It holds no personal value. */
  readonly name: string
  /** As it was delivered. */
  readonly bytes: number
  /** In UTF-8, decrypted and unpacked, which shows how much was packed. Known once the rows have been read. */
  readonly textBytes?: number
  /** The size of the cells, however they are quoted, padded and separated. Known once the rows have been read. */
  readonly cellBytes?: number
  /** Equal for the same content in the same place, different for anything newer. */
  readonly version: string
  /** More exports wait to be read after this one. */
  readonly more?: boolean
  /** How the end of a list was recognised: the last page by which rule, and the count that the server states. */
  readonly end?: string
}

/**
 * A record of a text without its line end lies between `start` and `end`, the next one begins at `next`. `line` is where it begins,
 * `lines` is how many line ends it has, its own included.
 */
export type RawRecord = {
  readonly text: Buffer
  readonly start: number
  readonly end: number
  readonly next: number
  readonly line: number
  readonly lines: number
}

/** Consecutive records of one line each that are skipped together. `bytes` includes their line ends. */
export type RecordRange = { readonly records: number; readonly bytes: number }

/** Decides which records of a source are skipped before their cells are parsed. */
export type RecordFilter = {
  /** The range to skip from here on; null: `shouldSkip` decides about the record that begins here. Called before each record. */
  readonly skipRange: (text: Buffer, start: number, line: number) => RecordRange | null
  /** Whether to skip the record. Called once for each record outside a skipped range, in order. */
  readonly shouldSkip: (record: RawRecord) => boolean
  /** Called when records can no longer be separated reliably: no later record is skipped. Throws if one was skipped already. */
  readonly stop: () => void
  /** Called when the parser returned other records than those that were offered here. Throws. */
  readonly fail: () => never
}

/** Rows that a filter can skip before they are parsed. */
export type FilterableRows = {
  /** Identifies how records are parsed: equal bytes in the same dialect are equal cells. */
  readonly dialect: string
  /** The rows that the filter does not skip, in slices, which may be empty. Each call reads from the start. */
  readonly rows: (filter: RecordFilter) => AsyncIterable<readonly SourceRow[]>
}

/** An opened source, to be read once from start to end. Rows arrive in slices, so that a million rows do not cost a million awaits. */
export type Reading = {
  readonly mode: 'snapshot' | 'delta'
  /** When the rows were true, an ISO instant. */
  readonly asOf: string
  /** null means that there is nothing new. The reading is then a delta without rows. */
  readonly source: SourceIdentity | null
  readonly headers: readonly string[]
  /** Rows may lack any column, as JSON records may. A column that no row has is then no finding. */
  readonly sparse?: boolean
  /** Of a sparse snapshot: a member that a record lacks is a blank, and a mapped one that no record has any more is a finding. */
  readonly missingIsBlank?: boolean
  /** Ends normally only if the source was read to its end and is complete. Otherwise it throws a `source_unreadable` failure. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** Undefined if records of the source cannot be separated before they are parsed. */
  readonly filterable?: FilterableRows
  /** What an operator should look at: positions and reasons, no personal values. The list is complete once the rows have been read. */
  readonly warnings?: () => readonly string[]
  /** The `textBytes` of the source, complete once the rows have been read. Left out if the source is not packed. */
  readonly textBytes?: () => number
  /** The `cellBytes` of the source, complete once the rows have been read. */
  readonly cellBytes?: () => number
  /**
   * Opens the fetched copy of the export again, for another reader. It works until `close` is called. Left out if the connector fetches
   * no copy.
   */
  readonly reopen?: () => Promise<Reading>
  /**
   * Frees what the reading holds, such as a copy of the export. The caller of `open` calls it on every path, since reading the rows
   * frees nothing. A second call does no harm. Left out if there is nothing to free.
   */
  readonly close?: () => Promise<void>
}

export type OpenOptions = {
  readonly now: () => Date
  readonly signal: AbortSignal
  /** Which of these versions need no reading any more, because their plan was accepted or rejected. */
  readonly findDecided: (versions: readonly string[]) => Promise<ReadonlySet<string>>
  /** Called with a text when the source makes the reader wait. */
  readonly onWait?: (reason: string) => void
}

/** What became of the plan that was made from a source: it was accepted, or a person refused it. */
export type Decision = 'accepted' | 'refused'

export type Connector = {
  /** Finds the source and reads its header. Throws a `source_unreadable` failure if it is not a readable, complete export. */
  readonly open: (options: OpenOptions) => Promise<Reading>
  /**
   * Archives, moves or deletes an export once the plan made from it is decided, as the settings say. Calling it again does nothing, nor
   * does a file that no longer exists.
   */
  readonly archive?: (source: SourceIdentity, decision: Decision) => Promise<void>
  /** Calls `onArrival` soon after something new may have arrived. Disposing ends the watch. */
  readonly watch?: (events: {
    readonly onArrival: () => void
    readonly onError: (error: unknown) => void
  }) => Promise<AsyncDisposable>
}

/** A secret. It is read again at every use, so that a replaced file takes effect. */
type SecretText = { readonly read: () => Promise<string> }

/** What every connector is given besides its settings. */
export type ConnectorContext = {
  /** Paths in the settings are relative to this folder. */
  readonly baseDir: string
  /** A folder that belongs to this connection, for what is fetched from elsewhere. It is made when it is needed, and only this account can read it. */
  readonly spoolDir: string
  /** The secret at a path below the source's settings, such as `password` or `decrypt.privateKey`; null if it is not set. */
  readonly secret: (path: string) => SecretText | null
}
