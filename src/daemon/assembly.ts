import { join } from 'node:path'
import type { Connector } from '../connectors/connector.ts'
import { requireConnectorKind } from '../connectors/registry/registry.ts'
import { machineCaller } from '../contract/control/access.ts'
import type { Database } from '../database/database.ts'
import type { Queue } from '../queue/queue.ts'
import { lazyQueue } from '../queue/lazy-queue.ts'
import { redisName } from '../queue/redis-name.ts'
import { hasJobTables } from '../queue/tables.ts'
import type { ProcessInfo } from '../store/process-info.ts'
import type { StoreSchema } from '../store/schema.ts'
import { noLease, takeLease } from '../store/workers/leases.ts'
import type { SyncConnection, SyncContext } from '../sync/context/context.ts'
import type { Events } from '../telemetry/events.ts'
import { withTraces } from '../telemetry/traced-events.ts'
import { noTraces, type Traces } from '../telemetry/traces.ts'
import { version } from '../version.ts'
import type { MonitoredConnections } from './alerts/freshness.ts'
import { type AuditService, openAudit } from './audit/service.ts'
import type { Config, ConnectionConfig } from './config/config.ts'
import type { Reloads } from './config/reload.ts'
import type { Secret } from './config/secret.ts'
import type { ControlContext } from './control/control.ts'
import type { Restorations } from './control/store.ts'
import { openStore } from './installation/open-store.ts'
import { lazyPlatform } from './lazy-platform.ts'
import type { Scheduled } from './schedules/schedules.ts'
import { type WorkScheduler, createWorkScheduler } from './work-scheduler.ts'
import { userName } from './user-name.ts'

/** Everything that runs need, opened: the store, the queue and the platform client. */
export type Assembly = {
  readonly config: Config
  readonly queue: Queue
  readonly sync: SyncContext
  readonly audit: AuditService
  /** Decides the order in which this process works on its jobs. */
  readonly scheduler: WorkScheduler
  [Symbol.asyncDispose](): Promise<void>
}

type AssemblyOptions = {
  readonly events: Events
  readonly now: () => Date
  /** Who started this process. Default: the user of this machine. */
  readonly startedBy?: string
  /** How a daemon process describes itself to the others; left out by commands. */
  readonly card?: ProcessInfo
  /** Whether this process traces the runs it works on. Default: true for a daemon process. */
  readonly tracesRuns?: boolean
  /** Read-only: takes no lease, and opens the queue and the platform client only when they are used. */
  readonly isReadOnly?: boolean
}

/** A long statement of the embedded database blocks this process; its jobs must not be taken for abandoned meanwhile. */
const embeddedLockSeconds = 600

/** Opens the parts in order. What was opened is closed in reverse, also when a later one fails to open. */
export async function assemble(
  config: Config,
  {
    events: log,
    now,
    startedBy = userName(),
    card,
    tracesRuns = card !== undefined,
    isReadOnly = false,
  }: AssemblyOptions,
): Promise<Assembly> {
  await using opening = new AsyncDisposableStack()
  const traces =
    tracesRuns && config.traces ? opening.use(await openTraces(config.traces, { card, events: log })) : noTraces
  const events = withTraces(log, traces)
  const { store, keeper: audit } = await openAudit(opening.use(await openStore(config, { events, now })), {
    config,
    events,
    now,
  })
  opening.use(audit)
  const openQueue = () => openJobs(config, { store, events })
  // If the job tables exist, opening the queue creates nothing and can wait.
  const canWait = isReadOnly && (config.queue !== null || (await hasJobTables(store.pool)))
  const queue = opening.use(canWait ? lazyQueue(await jobsPlace(config, store), openQueue) : await openQueue())
  const lease = isReadOnly ? noLease : opening.use(await takeLease(store, card))
  const openClient = async () => (await import('./platform.ts')).openPlatform(config, store, { events })
  const platform = opening.use(isReadOnly ? lazyPlatform(config, openClient) : await openClient())
  const connections = new Map(
    [...config.connections].map(([name, connection]) => [name, toSyncConnection(config, connection)]),
  )
  const scheduler = createWorkScheduler()
  const sync: SyncContext = {
    store,
    connections,
    enqueue: async (jobs) => {
      if (jobs.some(({ line = 'short' }) => line === 'short')) scheduler.expectShort()
      await queue.enqueue(jobs)
    },
    expectShortWork: scheduler.expectShort,
    platform,
    events,
    traces,
    now,
    lease,
    indexing: { version },
    sourceWaits: new Map(),
    startedBy,
  }
  const opened = opening.move()
  return { config, queue, sync, audit, scheduler, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** What the control API is served from: by the daemon, or by a command that does the work itself. */
export function controlContext(
  assembly: Assembly,
  {
    daemon,
    restorations,
    reloads,
    signal,
  }: {
    daemon: ControlContext['about']['daemon']
    restorations?: Restorations
    reloads?: Reloads
    signal: AbortSignal
  },
): ControlContext {
  const { config, sync, queue, audit } = assembly
  const about = {
    version,
    daemon,
    configuration: config.file,
    database: sync.store.place,
    queue: queue.place,
    platform: config.platform.baseUrl,
  }
  return {
    sync,
    caller: machineCaller(userName()),
    ...(restorations && { restorations }),
    ...(reloads && { reloads }),
    audit,
    schedules: connectionSchedules(config),
    alerts: config.alerts,
    monitored: monitoredConnections(config),
    about,
    signal,
  }
}

/** When each connection is read and read back without a person's asking. */
export function connectionSchedules(config: Config): Scheduled[] {
  return [...config.connections].flatMap(([connection, { schedule, verify, sample }]): Scheduled[] => [
    ...(schedule ? [{ connection, purpose: 'read', schedule } as const] : []),
    ...(verify ? [{ connection, purpose: 'verify', schedule: verify } as const] : []),
    ...(sample ? [{ connection, purpose: 'sample', schedule: sample } as const] : []),
  ])
}

/** What is watched for alerts. */
export function monitoredConnections({ connections }: Config): MonitoredConnections {
  const sources = [...connections].flatMap(([connection, { source, schedule }]) => {
    if (source === null) return []
    const { type, mode } = source.settings
    return [{ connection, mode, isFile: requireConnectorKind(type).isFile, schedule }]
  })
  const leaverBounds = new Map([...connections].map(([name, { leavers }]) => [name, leavers.boundHours]))
  return { connections: [...connections.keys()], sources, leaverBounds }
}

/** The queue: the configured Redis, else the database of the store. */
export async function openJobs(
  config: Config,
  { store, events }: { store: Database<StoreSchema>; events: Events },
): Promise<Queue> {
  const { openQueue } = await import('../queue/queue.ts')
  if (config.queue) return await openQueue({ backend: { kind: 'redis', url: await config.queue.read() }, events })
  const backend = { kind: 'database', database: store } as const
  if (store.kind === 'postgres') return await openQueue({ backend, events })
  const queue = await openQueue({ backend, events, locks: { lockSeconds: embeddedLockSeconds } })
  // The embedded database is locked by this process, so whatever job is left belongs to one that has ended.
  await queue.clear()
  return queue
}

async function jobsPlace({ queue }: Config, store: Pick<Database<StoreSchema>, 'place'>): Promise<string> {
  return queue ? redisName(await queue.read()) : store.place
}

async function openTraces(
  { headers, ...settings }: NonNullable<Config['traces']>,
  { card, events }: { card: ProcessInfo | undefined; events: Events },
): Promise<Traces & AsyncDisposable> {
  const { startTraces } = await import('../telemetry/otlp.ts')
  const process = { 'rollcall.roles': card?.roles.join(',') ?? 'command' }
  return await startTraces({ ...settings, version, process, headers: () => headersOf(headers) }, events)
}

/** Without those that cannot be read: the collector then says what it misses. */
async function headersOf(headers: ReadonlyMap<string, Secret>): Promise<Record<string, string>> {
  const read = await Promise.all(
    [...headers].map(async ([name, secret]) => [name, await secret.read().catch(() => '')] as const),
  )
  return Object.fromEntries(read.filter(([, value]) => value !== ''))
}

export function toSyncConnection({ folder, dataDir, approvals }: Config, connection: ConnectionConfig): SyncConnection {
  const { name, target, source, webhook, guards, pinned, onHold, records, linkedTo, digest, delivery } = connection
  return {
    name,
    target,
    feeds: {
      ...(source && {
        source: {
          ...source,
          connector: ownedBy(
            linkedTo,
            requireConnectorKind(source.settings.type).connect(source.settings, {
              baseDir: folder,
              spoolDir: join(dataDir, 'incoming', name),
              secret: (path) => source.secrets.get(path) ?? null,
            }),
          ),
        },
      }),
      ...(webhook && { webhook }),
    },
    guards,
    pinned: new Set(pinned),
    onHold,
    ...(records && { records }),
    ...(linkedTo !== undefined && { linkedTo }),
    approvals,
    configuration: digest,
    delivery,
  }
}

/** A linked connection only reads the source. The connection that it is linked to archives exports, and watches for more. */
function ownedBy(linkedTo: string | undefined, { open, ...owned }: Connector): Connector {
  return linkedTo === undefined ? { open, ...owned } : { open }
}
