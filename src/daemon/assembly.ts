import { join } from 'node:path'
import { Agent } from 'undici'
import type { Connector, ConnectorPlace } from '../connectors/connector.ts'
import { csvConnector } from '../connectors/folder/open.ts'
import { httpConnector } from '../connectors/http/open.ts'
import { sftpConnector } from '../connectors/sftp/open.ts'
import { deliveryOperations } from '../contract/platform/delivery-operations.ts'
import type { Database } from '../database/database.ts'
import { createClient } from '../http/client/client.ts'
import { provenServers } from '../http/client/tls.ts'
import { openQueue, type Queue } from '../queue/queue.ts'
import type { StoreSchema } from '../store/schema.ts'
import { takeLease } from '../store/workers/leases.ts'
import type { Platform, SyncConnection, SyncContext } from '../sync/context.ts'
import { createPace } from '../sync/deliver/pace.ts'
import type { Events } from '../telemetry/events.ts'
import { version } from '../version.ts'
import type { Watched } from './alerts/freshness.ts'
import { type AuditKeeper, keepAudit } from './audit/keeper.ts'
import type { Config, ConnectionConfig } from './config/config.ts'
import type { SourceSettings } from './config/schema.ts'
import type { ControlContext } from './control/control.ts'
import type { Restorations } from './control/store.ts'
import { openStore } from './installation/open-store.ts'
import type { Scheduled } from './schedules/schedules.ts'
import { userName } from './user-name.ts'

/** Everything that work needs, opened: the store, the queue and the way to the platform. */
export type Assembly = {
  readonly config: Config
  readonly queue: Queue
  readonly sync: SyncContext
  readonly audit: AuditKeeper
  [Symbol.asyncDispose](): Promise<void>
}

export type AssemblyOptions = {
  readonly events: Events
  readonly now: () => Date
  /** Who started this process. Default: the user of this machine. */
  readonly startedBy?: string
}

const connectTimeoutMs = 10_000
/** A long statement of the embedded database blocks this process; its jobs must not be taken for abandoned meanwhile. */
const embeddedLockSeconds = 600

/** Opens the parts in order. What was opened is closed in reverse, also when a later one fails to open. */
export async function assemble(
  config: Config,
  { events, now, startedBy = userName() }: AssemblyOptions,
): Promise<Assembly> {
  await using opening = new AsyncDisposableStack()
  const { store, keeper: audit } = await keepAudit(opening.use(await openStore(config, { events, now })), {
    config,
    events,
    now,
  })
  opening.use(audit)
  const queue = opening.use(await openJobs(config, { store, events }))
  const lease = opening.use(await takeLease(store))
  const platform = opening.use(openPlatform(config, store))
  const connections = new Map(
    [...config.connections].map(([name, connection]) => [name, toSyncConnection(config, connection)]),
  )
  const sync: SyncContext = { store, connections, enqueue: queue.enqueue, platform, events, now, lease, startedBy }
  const opened = opening.move()
  return { config, queue, sync, audit, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** What the control API is served from: by the daemon, or by a command that does the work itself. */
export function controlContext(
  assembly: Assembly,
  {
    daemon,
    restorations,
    signal,
  }: { daemon: ControlContext['about']['daemon']; restorations?: Restorations; signal: AbortSignal },
): ControlContext {
  const { config, sync, queue, audit } = assembly
  const about = {
    version,
    daemon,
    database: sync.store.place,
    queue: queue.place,
    platform: config.platform.baseUrl,
  }
  return {
    sync,
    ...(restorations && { restorations }),
    audit,
    schedules: schedulesOf(config),
    alerts: config.alerts,
    watched: watchedOf(config),
    about,
    signal,
  }
}

/** When each connection is read and read back without a person's asking. */
export function schedulesOf(config: Config): Scheduled[] {
  return [...config.connections].flatMap(([connection, { schedule, verify, sample }]): Scheduled[] => [
    ...(schedule ? [{ connection, purpose: 'read', schedule } as const] : []),
    ...(verify ? [{ connection, purpose: 'verify', schedule: verify } as const] : []),
    ...(sample ? [{ connection, purpose: 'sample', schedule: sample } as const] : []),
  ])
}

/** What is watched for alerts. */
export function watchedOf({ connections }: Config): Watched {
  const sources = [...connections].flatMap(([connection, { source, schedule }]) => {
    if (source === null) return []
    const { type, mode } = source.settings
    return [{ connection, mode, isFile: type !== 'http', schedule }]
  })
  const leaverBounds = new Map([...connections].map(([name, { leavers }]) => [name, leavers.boundHours]))
  return { connections: [...connections.keys()], sources, leaverBounds }
}

/** The queue: the configured Redis, else the database of the store. */
export async function openJobs(
  config: Config,
  { store, events }: { store: Database<StoreSchema>; events: Events },
): Promise<Queue> {
  if (config.queue) return await openQueue({ backend: { kind: 'redis', url: await config.queue.read() }, events })
  const backend = { kind: 'database', database: store } as const
  if (store.kind === 'postgres') return await openQueue({ backend, events })
  const queue = await openQueue({ backend, events, locks: { lockSeconds: embeddedLockSeconds } })
  // The embedded database is locked by this process, so whatever job is left belongs to one that has ended.
  await queue.clear()
  return queue
}

/** The way to the platform, with a budget of requests that all processes of the store share. The key is read again for each request, so that a replaced secret file takes effect. */
export function openPlatform(
  { platform }: Config,
  store: Pick<Database<StoreSchema>, 'pool'> | null,
): Platform & AsyncDisposable {
  const dispatcher = new Agent({
    connect: { timeout: connectTimeoutMs, ...provenServers, ...(platform.ca !== null && { ca: platform.ca }) },
  })
  const client = createClient(deliveryOperations, {
    baseUrl: platform.baseUrl,
    bearer: () => platform.apiKey.read(),
    dispatcher,
    timeoutMs: platform.timeoutMs,
  })
  return {
    client,
    baseUrl: platform.baseUrl,
    pace: createPace({
      pool: store?.pool ?? null,
      platform: platform.baseUrl,
      requestsPerMinute: platform.requestsPerMinute,
      inFlight: platform.inFlight,
    }),
    inFlight: platform.inFlight,
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  }
}

export function toSyncConnection({ folder, dataDir, approvals }: Config, connection: ConnectionConfig): SyncConnection {
  const { name, target, source, webhook, guards, pinned, onHold, keepValues, digest, delivery } = connection
  return {
    name,
    target,
    feeds: {
      ...(source && {
        source: {
          ...source,
          connector: openConnector(source.settings, {
            baseDir: folder,
            spoolDir: join(dataDir, 'incoming', name),
            secret: (path) => source.secrets.get(path) ?? null,
          }),
        },
      }),
      ...(webhook && { webhook }),
    },
    guards,
    pinned: new Set(pinned),
    onHold,
    keepValues,
    approvals,
    configuration: digest,
    delivery,
  }
}

function openConnector(settings: SourceSettings, place: ConnectorPlace): Connector {
  switch (settings.type) {
    case 'csv':
      return csvConnector(settings, place)
    case 'sftp':
      return sftpConnector(settings, place)
    case 'http':
      return httpConnector(settings, place)
    default:
      return settings satisfies never
  }
}
