import type { MissingDetail } from '../identity/mapping/missing-details.ts'
import type { Origin } from '../identity/record.ts'

/** One row of a source. `values` are in the order of the reading's headers. Every cell is text. */
export type SourceRow = {
  /** undefined: the row does not state this column. Blank: the row states that there is no value. Files have no undefined cells. */
  readonly values: readonly (string | undefined)[]
  /** Indexes of undefined cells where a JSON record has an object or a list instead of a text. */
  readonly nonTextColumns?: readonly number[]
  readonly origin: Origin
  /** The as-of time of this row (ISO instant), if it differs from that of the whole reading. */
  readonly asOf?: string
  /** Set if the row takes effect later than it was stated, or its time cannot be read. Its cells can be used. */
  readonly timing?: RowTiming
  /** Why this cell, or with `column` null the whole row including its key, cannot be used. */
  readonly fault?: { readonly column: number | null; readonly reason: string }
  /** Cells that cannot be used, each with its reason. Others of the row can. */
  readonly cellFaults?: readonly { readonly column: number; readonly reason: string }[]
  /** Parts of the record that could not be read. None of their cells can be used, whether the header has their columns or not. */
  readonly missingDetails?: readonly MissingDetail[]
}

/** When an event was stated and when it takes effect. Instants are ISO. */
export type RowTiming = {
  readonly statedAt: string
  /** When it takes effect, later than it was stated; null if its time cannot be read. */
  readonly effectiveAt: string | null
  /** Why it cannot take effect yet; null if its time has come. */
  readonly reason: string | null
}

/** Identifies what was read. It is stored with the run, and passed to `archive` once the plan is decided. */
export type SourceIdentity = {
  /** The name for operators, such as the base name of the file. It contains no personal data. */
  readonly name: string
  /** The size as delivered. */
  readonly bytes: number
  /** The size in UTF-8, decrypted and unpacked. Known once the rows have been read. */
  readonly textBytes?: number
  /** The size of the cells without quotes, padding and delimiters. Known once the rows have been read. */
  readonly cellBytes?: number
  /** Equal for the same content at the same location, different for anything newer. */
  readonly version: string
  /** Whether more exports wait to be read after this one. */
  readonly more?: boolean
  /** How many rows the source has, as its end states or as its pages held; left out where that is not known. */
  readonly records?: number
  /** How the end of a list was recognised: the rule for the last page, and the count that the server states. */
  readonly end?: string
}

/**
 * A record that is not parsed yet: the bytes of `text` from `start` to `end`, without the line end. The next record begins at `next`.
 * `line`: where the record begins. `lines`: the number of its line ends, with the last one.
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

/** An opened source, to be read once. Rows arrive in slices, so that a million rows do not cost a million awaits. */
export type Reading = {
  readonly mode: 'snapshot' | 'delta'
  /** The as-of time: the rows state HR's data at this ISO instant. */
  readonly asOf: string
  /** null: there is nothing new, and the reading is a delta without rows. */
  readonly source: SourceIdentity | null
  readonly headers: readonly string[]
  /** How messages name the columns, such as `C / Leaving date` of a sheet, if not by the header alone. */
  readonly columnLabels?: readonly string[]
  /** Whether rows may lack any column, as JSON records do. A column that no row has is then no problem. */
  readonly sparse?: boolean
  /** For a sparse snapshot: a missing member is a blank, and a mapped member that no record has any more is a problem. */
  readonly missingIsBlank?: boolean
  /** The names of details that some rows lack: see `SourceRow.missingDetails`. */
  readonly partialDetails?: readonly string[]
  /** Ends normally only if the source was read to its end and is complete. Otherwise it throws a `source_unreadable` failure. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** Undefined if records of the source cannot be separated before they are parsed. */
  readonly filterable?: FilterableRows
  /** Warnings for an operator: positions and reasons, no personal data. Complete once the rows have been read. */
  readonly warnings?: () => readonly string[]
  /** The `textBytes` of the source, complete once the rows have been read. Undefined if the source cannot be compressed. */
  readonly textBytes?: () => number
  /** The `cellBytes` of the source, complete once the rows have been read. */
  readonly cellBytes?: () => number
  /** The SHA-256 of the file as it was delivered. Works until `close` is called. Undefined if the source is not one file. */
  readonly sha256?: () => Promise<string>
  /**
   * Opens the fetched copy of the export again, for another reader. Works until `close` is called. Undefined if the connector fetches no
   * copy.
   */
  readonly reopen?: () => Promise<Reading>
  /**
   * Frees resources, such as a copy of the export. The caller of `open` must always call it: reading the rows frees nothing. A second
   * call does nothing. Undefined if there is nothing to free.
   */
  readonly close?: () => Promise<void>
}

/** What `open` needs besides the settings. */
export type OpenOptions = {
  readonly now: () => Date
  readonly signal: AbortSignal
  /** Which of these versions need no reading any more, because their plan was accepted or rejected. */
  readonly findDecided: (versions: readonly string[]) => Promise<ReadonlySet<string>>
  /** Opens the newest export, also where each one is read: for a preview, which is about what HR exports today. */
  readonly isNewest?: boolean
  /** Called with a text when the source makes the reader wait. */
  readonly onWait?: (reason: string) => void
}

/** The decision about the plan that was made from a source. `refused`: a person rejected it. */
export type Decision = 'accepted' | 'refused'

/** Reads one source. */
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

/** A secret, read at every use, so that a replaced file takes effect. */
type SecretText = { readonly read: () => Promise<string> }

/** What every connector receives besides its settings. */
export type ConnectorContext = {
  /** Paths in the settings are relative to this folder. */
  readonly baseDir: string
  /** The folder of this connection for fetched copies. The connector creates it, readable only for its account, when it needs it. */
  readonly spoolDir: string
  /**
   * The folder for tokens that replace configured ones, shared by all connections. The connector creates it, readable only for its
   * account. Undefined where nothing is kept, as in a preview.
   */
  readonly tokensDir?: string
  /** The secret at a path below the source's settings, such as `password` or `decrypt.privateKey`; null if it is not set. */
  readonly secret: (path: string) => SecretText | null
  /**
   * The text of an address in the configuration file, with its references such as `${HOST}` unresolved, at a path below the source's
   * settings; undefined if the address holds no reference.
   */
  readonly written?: (path: string) => string | undefined
}
