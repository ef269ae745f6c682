import { lazyQueue } from '../queue/lazy-queue.ts'
import type { Queue } from '../queue/queue.ts'
import { hasJobTables } from '../queue/tables.ts'
import type { ProcessInfo } from '../store/schema/process-info.ts'
import { noLease, takeLease } from '../store/workers/leases.ts'
import type { SyncContext } from '../sync/context/context.ts'
import type { Events } from '../telemetry/events.ts'
import { withTraces } from '../telemetry/traced-events.ts'
import { noTraces } from '../telemetry/traces.ts'
import { version } from '../version.ts'
import { type AuditService, openAudit } from './audit/service.ts'
import type { Config } from './config/config.ts'
import { openStore } from './installation/open-store.ts'
import { lazyPlatform } from './lazy-platform.ts'
import { openConfiguredQueue, queueAddress } from './open-queue.ts'
import { openTraces } from './open-traces.ts'
import { toDirectory, toSyncConnection } from './sync-connection.ts'
import { userName } from './user-name.ts'
import { createWorkScheduler, type WorkScheduler } from './work-scheduler.ts'

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
  readonly processInfo?: ProcessInfo
  /** Whether this process traces the runs it works on. Default: true for a daemon process. */
  readonly tracesRuns?: boolean
  /** Read-only: takes no lease, and opens the queue and the platform client only when they are used. */
  readonly isReadOnly?: boolean
}

/** Opens the parts in order. What was opened is closed in reverse, also when a later one fails to open. */
export async function assemble(
  config: Config,
  {
    events: log,
    now,
    startedBy = userName(),
    processInfo,
    tracesRuns = processInfo !== undefined,
    isReadOnly = false,
  }: AssemblyOptions,
): Promise<Assembly> {
  await using opening = new AsyncDisposableStack()
  const traces =
    tracesRuns && config.traces ? opening.use(await openTraces(config.traces, { processInfo, events: log })) : noTraces
  const events = withTraces(log, traces)
  const opened = opening.use(await openStore(config, { events, now }))
  const { store, audit } = await openAudit(opened, { config, events, now })
  opening.use(audit)
  const openQueue = () => openConfiguredQueue(config, { store, events })
  // If the job tables exist, opening the queue creates nothing and can wait.
  const canWait = isReadOnly && (config.queue !== null || (await hasJobTables(store.pool)))
  const queue = opening.use(canWait ? lazyQueue(await queueAddress(config, store), openQueue) : await openQueue())
  const lease = isReadOnly ? noLease : opening.use(await takeLease(store, processInfo))
  const openClient = async () => (await import('./platform.ts')).openPlatform(config, store, { events })
  const platform = opening.use(isReadOnly ? lazyPlatform(config, openClient) : await openClient())
  const connections = new Map(
    [...config.connections].map(([name, connection]) => [name, toSyncConnection(config, connection)]),
  )
  const directories = new Map([...config.directories].map(([name, one]) => [name, toDirectory(config, one)]))
  const scheduler = createWorkScheduler()
  const sync: SyncContext = {
    store,
    connections,
    directories,
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
  const running = opening.move()
  return { config, queue, sync, audit, scheduler, [Symbol.asyncDispose]: () => running.disposeAsync() }
}
