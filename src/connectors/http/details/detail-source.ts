import type { ConnectorContext, OpenOptions } from '../../connector.ts'
import type { FlatRecord, JsonObject } from '../../json/cells.ts'
import type { HttpClient } from '../client/client.ts'
import type { Take } from './take.ts'

/** What fetching details needs besides the settings of the source. */
export type DetailTools = {
  readonly context: ConnectorContext
  readonly client: HttpClient
  /** Before the first request is sent. */
  readonly startedAt: Date
  readonly signal: AbortSignal
  readonly onWait?: OpenOptions['onWait']
}

/** A record whose detail is looked for. */
export type DetailRequest = {
  readonly cells: FlatRecord['cells']
  /** The position of the record in failures. */
  readonly position: string
}

/** The details of a record in the order of the server, or why it has none. */
export type FoundDetails = { readonly details: readonly [JsonObject, ...JsonObject[]] } | { readonly absence: string }

/** What a source of details read. Complete once every record was looked up. */
export type DetailSummary = {
  /** How the ends of its answers were recognised. */
  readonly end: string
  readonly bytes: number
  /** The digest of what was read besides the details that were found. */
  readonly digest: string
  /** Warnings for an operator, without personal data. */
  readonly warnings: readonly string[]
}

/** Where one detail of each record comes from: a further list, or requests for the records. */
export type DetailSource = AsyncDisposable & {
  /** The name below which the detail is put. */
  readonly as: string
  readonly take: Take
  /** For how many records it looks at once, if it can. */
  readonly batchSize: number
  /** The results are in the order of the records. One rejects with a failure if it cannot be known whether the record has details. */
  readonly find: (requests: readonly DetailRequest[]) => readonly Promise<FoundDetails>[]
  readonly summarize: () => DetailSummary
}

/** The details as found, or the absence if there are none. */
export function foundDetails([first, ...others]: readonly JsonObject[], absence: string): FoundDetails {
  return first === undefined ? { absence } : { details: [first, ...others] }
}
