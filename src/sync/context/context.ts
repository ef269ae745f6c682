import type { Connector } from '../../connectors/connector.ts'
import type { EventSettings } from '../../connectors/webhook/settings.ts'
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

/** How rows become records, and how a plan treats them. */
export type FeedRules = {
  readonly mapping: Mapping
  readonly traps: readonly Trap[]
  readonly absence: 'separate' | 'hold' | 'ignore'
  readonly graceRuns: number
  /** What happens to a person who falls out of scope. */
  readonly outOfScope?: 'keep' | 'separate' | 'hold'
  readonly timeZone: string
  /** Whether a future leaving date is sent at once or on its day. */
  readonly future: 'send' | 'defer'
  /** The shape of records; absent for the fields that the platform has for people. */
  readonly shape?: Shape
}

/** A source that runs read. */
export type SourceFeed = FeedRules & { readonly connector: Connector }

/** Events that are received and wait in the store. */
export type WebhookFeed = FeedRules & { readonly settings: EventSettings }

/** A connection of the platform, by name (created if missing) or number. */
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

/**
 * The form of the records of a CUSTOM connection, and how they reach it. `direct`: change by change. `session`: the whole set at once.
 * `bySource`: `session` for snapshots, `direct` for deltas.
 */
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
  /** The events are changes that an identity system pushes over SCIM. */
  readonly isPushed?: boolean
  readonly guards: Guards
  /** The keys of people who are neither separated nor deleted without an approval that names them. */
  readonly pinned: ReadonlySet<string>
  /** The kinds of change of a held plan that are sent at once if no guard puts them in doubt. */
  readonly onHold: { readonly send: readonly ChangeKind[] }
  readonly approvals: {
    /** How long a held plan can be approved. */
    readonly expireHours: number
    /** Whoever requested the run or changed the configuration may not approve it. */
    readonly twoPeople: boolean
    /** A decision about a held plan needs a reason. Absent: it does not. */
    readonly requireReason?: boolean
  }
  /** A digest of everything above and of how the feeds are read: a plan with another digest is made again. No secrets. */
  readonly configuration: string
  /** Absent for the fields that the platform has for people. */
  readonly records?: RecordRules
  /** The connection whose source it reads too. Absent if the source is its own. */
  readonly linkedTo?: string
  readonly delivery: {
    readonly batchSize: number
    readonly batchBytes: number
    /** More people than this in one batch of updates go through the batch upsert. */
    readonly updateWave: number
  }
}

/** A list of accounts, which is compared with the people of HR. */
export type Directory = {
  readonly name: string
  readonly feed: SourceFeed
  readonly guards: Guards
  /** When it is due next; null: only on request. */
  readonly nextAt: (now: Date) => Date | null
}

/** Awaited between two pieces of work, so that shorter work of the same process can go first. `rows`: the number of rows read so far. */
export type YieldToShortWork = (read?: { readonly rows: number }) => Promise<void>

/** The dependencies of the use cases in this folder. */
export type SyncContext = {
  readonly store: Database<StoreSchema>
  readonly connections: ReadonlyMap<string, SyncConnection>
  /** Absent if there are none. */
  readonly directories?: ReadonlyMap<string, Directory>
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
