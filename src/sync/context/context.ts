import type { Connector } from '../../connectors/connector.ts'
import type { WebhookSettings } from '../../connectors/webhook/settings.ts'
import type { deliveryOperations } from '../../contract/platform/delivery-operations.ts'
import type { Database } from '../../database/database.ts'
import { Failure } from '../../errors.ts'
import type { Client } from '../../http/client/client.ts'
import type { ChangeKind } from '../../identity/change.ts'
import type { Guards } from '../../identity/guards/limits.ts'
import type { Trap } from '../../identity/lint/lint.ts'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import type { JsonObject } from '../../identity/shape/json-schema.ts'
import type { Shape } from '../../identity/shape/shape.ts'
import type { Queue } from '../../queue/queue.ts'
import type { StoreSchema } from '../../store/schema.ts'
import type { Lease } from '../../store/workers/leases.ts'
import type { Events } from '../../telemetry/events.ts'
import type { Traces } from '../../telemetry/traces.ts'
import type { RateLimiter } from '../rate-limit/rate-limiter.ts'

/** The operations of the platform that a sync needs. */
export type PlatformClient = Client<typeof deliveryOperations>

/** The platform that a sync sends to. */
export type Platform = {
  readonly client: PlatformClient
  readonly baseUrl: string
  readonly rateLimiter: RateLimiter
  /** Maximum number of requests in flight. */
  readonly inFlight: number
}

/** How rows become records, and what is made of what they say. */
export type FeedRules = {
  readonly mapping: Mapping
  readonly traps: readonly Trap[]
  readonly absence: 'separate' | 'hold' | 'ignore'
  readonly graceRuns: number
  /** What follows for a person who falls out of the scope of the mapping. */
  readonly outOfScope?: 'keep' | 'separate' | 'hold'
  readonly timeZone: string
  /** What is done with a leaving date that lies ahead. */
  readonly future: 'send' | 'defer'
  /** The form of records; left out where they are those that the platform knows of people. */
  readonly shape?: Shape
}

/** A source that is read when a run asks for it. */
export type SourceFeed = FeedRules & { readonly connector: Connector }

/** Events that come in by themselves and wait in the store. */
export type WebhookFeed = FeedRules & { readonly settings: WebhookSettings }

/** A connection of the platform, by its name (created where it is missing) or its number. */
type TargetConfig = { readonly name: string } | { readonly id: number } | RecordTarget

/** A CUSTOM connection, which takes records of a shape of its own. */
export type RecordTarget = {
  readonly name: string
  /** Where several have the name. */
  readonly id?: number
  readonly type: 'CUSTOM'
  readonly workspaces: readonly number[]
  readonly displayNameKey: string
  readonly description?: string
  readonly schema?: JsonObject
  readonly sampleData?: JsonObject
}

/** The form of the records of a CUSTOM connection, and how they reach it: `bySource`: all at once for snapshots, change by change for deltas. */
export type RecordRules = { readonly shape: Shape; readonly deliver: 'direct' | 'session' | 'bySource' }

/** The target of a connection, if it takes records of a shape of its own. */
export function recordTarget(target: TargetConfig): RecordTarget | null {
  return 'type' in target ? target : null
}

/** One connection as a run needs it: where its facts come from, what a plan may do and where it goes. */
export type SyncConnection = {
  readonly name: string
  readonly target: TargetConfig
  /** At least one of the two. */
  readonly feeds: { readonly source?: SourceFeed; readonly webhook?: WebhookFeed }
  readonly guards: Guards
  /** The keys of people who are neither separated nor deleted without an approval that names them. */
  readonly pinned: ReadonlySet<string>
  /** The kinds of change of a held plan that go on at once where no guard puts them in doubt. */
  readonly onHold: { readonly send: readonly ChangeKind[] }
  readonly approvals: {
    /** So long a held plan can be approved. */
    readonly expireHours: number
    /** The person who approves is another one than the one who asked for the run or changed the configuration. */
    readonly twoPeople: boolean
  }
  /** A digest of everything above and of how the feeds are read: a plan that was made by another one is made again. No secrets. */
  readonly configuration: string
  /** Left out where its records are those that the platform knows of people. */
  readonly records?: RecordRules
  /** The connection whose source it reads too. Left out if the source is its own. */
  readonly linkedTo?: string
  readonly delivery: {
    readonly batchSize: number
    readonly batchBytes: number
    /** More people than this in one batch of updates go through the batch upsert. */
    readonly updateWave: number
  }
}

/** Awaited between two pieces of work, so that shorter work of the same process can go first. `rows`: so many were read until now. */
export type YieldToShortWork = (read?: { readonly rows: number }) => Promise<void>

/** What the use cases of this folder are given. */
export type SyncContext = {
  readonly store: Database<StoreSchema>
  readonly connections: ReadonlyMap<string, SyncConnection>
  readonly enqueue: Queue['enqueue']
  readonly platform: Platform
  readonly events: Events
  readonly traces: Traces
  readonly now: () => Date
  readonly lease: Lease
  /** Absent if there is no short work to wait for. */
  readonly yieldToShortWork?: YieldToShortWork
  /** Called first when a run is requested, so that running work yields before the run is enqueued. */
  readonly expectShortWork?: () => void
  /**
   * Each export leaves an index, so that unchanged rows are not parsed again. `version`: of this program, because another version may map the
   * same rows differently. `sampleSize`: how many people of an export the checks look at, 10,000 by default. Absent: every export is read
   * whole.
   */
  readonly indexing?: { readonly version: string; readonly sampleSize?: number }
  /** Why runs of this process wait for their source, by run id. Absent if nothing shows it. */
  readonly sourceWaits?: Map<string, string>
  /** Who started this process; null if unknown. */
  readonly startedBy: string | null
}

/** Returns a connection of the configuration; throws if the name is unknown. */
export function requireConnection(ctx: Pick<SyncContext, 'connections'>, name: string): SyncConnection {
  const connection = ctx.connections.get(name)
  if (connection) return connection
  const known = [...ctx.connections.keys()].join(', ')
  throw new Failure('not_found', `there is no connection "${name}" in the configuration; it has: ${known}`)
}
