import type { WebhookSettings } from '../../connectors/webhook/settings.ts'
import type { Setting } from '../../contract/control/settings.ts'
import type { ChangeKind } from '../../identity/change.ts'
import type { Guards } from '../../identity/guards/limits.ts'
import type { Trap } from '../../identity/lint/lint.ts'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import type { Shape } from '../../identity/shape/shape.ts'
import type { Retention } from '../../store/retention/retain.ts'
import type { Schedule } from '../schedules/schedules.ts'
import type { AlertSettings } from './channel.ts'
import type { HandOverMails } from './hand-over-settings.ts'
import type { ConfigFile, DeliveryTarget, SourceSettings } from './schema.ts'
import type { Secret } from './secret.ts'
import type { PushedSource } from './source-settings.ts'
import type { TracesFile } from './trace-settings.ts'
import type { WeeklyMails } from './weekly-settings.ts'

/** A configuration that was checked as a whole: paths are absolute, presets applied, secrets wrapped. */
export type Config = {
  /** The file it came from. */
  readonly file: string
  /** The change time (ctime) of the file when it was read. */
  readonly changedMs: number
  /** The digest of the file's text. */
  readonly digest: string
  /** The folder of the file; paths of sources are relative to it. */
  readonly folder: string
  readonly platform: {
    readonly baseUrl: string
    /** True if requests travel unencrypted to another machine. */
    readonly isUnencrypted: boolean
    /** The root certificates of `caFile`; null: the well-known ones. */
    readonly ca: string | null
    readonly apiKey: Secret
    /** The reference that the key is read from, as the audit trail names it. */
    readonly apiKeyName: string
    readonly timeoutMs: number
    readonly requestsPerMinute: number
    readonly inFlight: number
  }
  /** postgres://…; null: embedded, in `dataDir`. May hold a password. */
  readonly database: Secret | null
  /** redis://…; null: the database. May hold a password. */
  readonly queue: Secret | null
  readonly dataDir: string
  /** `token` null: only tokens made with "rollcall token create" are valid. */
  readonly server: {
    readonly host: string
    readonly port: number
    readonly token: Secret | null
    readonly publicUrl: URL | null
    /** Proxies whose `X-Forwarded-For` is trusted to name the sender. */
    readonly trustedProxies: readonly string[]
    /** Further names under which the daemon is reached. */
    readonly hosts: readonly string[]
    readonly sessions: ConfigFile['server']['sessions']
    /** Null: people sign in by token. */
    readonly oidc: OidcConfig | null
    /** Who may read the metrics. */
    readonly metrics: 'token' | 'open'
  }
  /** `signingKey` null: the key is generated into the data folder. */
  readonly audit: { readonly signingKey: Secret | null }
  /** How long the store keeps values of finished runs, and the runs themselves. */
  readonly retention: Retention
  readonly alerts: AlertSettings
  /** The mails to HR about what it has to correct; null: none. */
  readonly handOver: HandOverMails | null
  /** The weekly summary; null: none. */
  readonly weekly: WeeklyMails | null
  readonly approvals: ConfigFile['approvals']
  /** Where traces go; null: there are none. */
  readonly traces: TraceConfig | null
  readonly connections: ReadonlyMap<string, ConnectionConfig>
  /** Connections that list accounts and deliver nothing. */
  readonly directories: ReadonlyMap<string, DirectoryConfig>
  /** Settings that the next release refuses, each with its position in the file and what to write instead. */
  readonly outdated: readonly string[]
  /** Every setting in effect and where it comes from, without secrets. */
  readonly settings: readonly Setting[]
}

/** A collector of traces, and the headers that it requires. */
export type TraceConfig = Omit<TracesFile, 'headers'> & { readonly headers: ReadonlyMap<string, Secret> }

type OidcFile = NonNullable<ConfigFile['server']['oidc']>

/** The identity provider that people sign in with. */
export type OidcConfig = Omit<OidcFile, 'issuer' | 'clientSecret'> & {
  readonly issuer: URL
  readonly clientSecret: Secret
}

/** How the rows of one feed become records, presets applied. */
export type FeedConfig = {
  /** The preset's mapping, overridden by the connection's own. */
  readonly mapping: Mapping
  /** Known mistakes in exports of the preset's system. */
  readonly traps: readonly Trap[]
  readonly absence: 'separate' | 'hold' | 'ignore'
  readonly graceRuns: number
  readonly outOfScope?: 'keep' | 'separate' | 'hold'
  readonly timeZone: string
  readonly future: 'send' | 'defer'
  readonly shape?: Shape
}

/** The source of a connection. */
export type SourceConfig = FeedConfig & {
  readonly settings: SourceSettings
  /** By their path below the source, such as `decrypt.privateKey`. */
  readonly secrets: ReadonlyMap<string, Secret>
  /** The addresses that hold references, with the references unresolved, by their path below the source. */
  readonly written: ReadonlyMap<string, string>
}

/** A source whose people an identity system pushes. */
export type PushedConfig = FeedConfig & { readonly settings: PushedSource }

/** The webhook of a connection, and the secrets that its events are signed with. */
export type WebhookConfig = FeedConfig & { readonly settings: WebhookSettings; readonly secrets: readonly Secret[] }

/** A checked list of accounts. */
export type DirectoryConfig = {
  readonly name: string
  readonly source: SourceConfig
  /** When the daemon reads it by itself; null: never. */
  readonly schedule: Schedule | null
  readonly guards: Guards
}

/** A checked connection: presets applied, secrets wrapped. */
export type ConnectionConfig = {
  readonly name: string
  readonly target: DeliveryTarget
  /** At least one of `source`, `pushed` and `webhook` is set. */
  readonly source: SourceConfig | null
  readonly pushed: PushedConfig | null
  readonly webhook: WebhookConfig | null
  /** When the daemon reads the source by itself; null: never. */
  readonly schedule: Schedule | null
  /** When everything on the platform is verified; null: never. */
  readonly verify: Schedule | null
  /** When leavers and a sample of the others are verified; null: never. */
  readonly sample: Schedule | null
  readonly guards: Guards
  /** The keys of people who are neither separated nor deleted without an approval that names them. */
  readonly pinned: readonly string[]
  /** The kinds of change that a held plan sends anyway. */
  readonly onHold: { readonly send: readonly ChangeKind[] }
  /** Set for a target of type CUSTOM. `bySource`: one session for snapshots, change by change for deltas. */
  readonly records?: { readonly shape: Shape; readonly deliver: 'direct' | 'session' | 'bySource' }
  /** The connection whose source it reads, in a run of its own; left out if it has its own source. */
  readonly linkedTo?: string
  /** A digest of how it is read and guarded: see `configurationDigest`. */
  readonly digest: string
  readonly delivery: { readonly batchSize: number; readonly batchBytes: number; readonly updateWave: number }
  readonly leavers: { readonly boundHours: number }
}
