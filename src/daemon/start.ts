import { requestDueRuns, requestRun } from '../sync/sync.ts'
import { describeError } from '../telemetry/describe-error.ts'
import type { Events } from '../telemetry/events.ts'
import { type AlertContext, startAlerts } from './alerts/alerts.ts'
import { type Assembly, assemble, controlContext, schedulesOf, watchedOf } from './assembly.ts'
import type { Config } from './config/config.ts'
import { announceAddress } from './control/address-file.ts'
import { startLocalServer, startServer } from './control/server.ts'
import type { Restorations } from './control/store.ts'
import { withOutages } from './outages.ts'
import { repeat } from './repeat.ts'
import { scheduleTasks } from './schedules/scheduled-runs.ts'
import { createSchedules } from './schedules/schedules.ts'
import { serveWebhooks, type WebhooksOptions } from './webhooks/webhooks.ts'
import { startWork } from './work.ts'

export type Daemon = {
  /** Where webhooks and probes are served, and the control API if a token is configured. */
  readonly url: string
  /** The Unix socket of the control API. */
  readonly socket: string
  [Symbol.asyncDispose](): Promise<void>
}

export type DaemonOptions = {
  readonly events: Events
  readonly now?: () => Date
  /** What is to be done about a restoration that is asked for; left out: it is refused. */
  readonly restorations?: Restorations
}

const scheduleMs = 5000

/** Opens every part in order, and closes them in reverse, also when one fails to open. */
export async function startDaemon(
  config: Config,
  { events: log, now = () => new Date(), restorations }: DaemonOptions,
): Promise<Daemon> {
  const events = withOutages(log)
  await using opening = new AsyncDisposableStack()
  const stopping = new AbortController()
  if (config.platform.isReadable) events.platformReadable({ address: config.platform.baseUrl })
  const assembly = opening.use(await assemble(config, { events, now }))
  opening.use(await startWork(assembly))
  opening.use(await startSchedules(assembly))
  opening.use(await startWatches(assembly))
  opening.use(startAlerts(alertContext(assembly)))

  const startedAt = now().toISOString()
  const context = controlContext(assembly, {
    daemon: { pid: process.pid, startedAt },
    ...(restorations && { restorations }),
    signal: stopping.signal,
  })
  const { socket } = opening.use(await startLocalServer({ dataDir: config.dataDir, context }))
  const server = opening.use(
    await startServer({
      ...config.server,
      token: (await config.server.token?.read()) ?? null,
      context,
      alsoServe: (app) => serveWebhooks(app, webhooksOf(assembly)),
      checks: { store: () => assembly.sync.lease.renew(), queue: () => assembly.queue.check() },
    }),
  )
  const { file, changedMs } = config
  const address = {
    pid: process.pid,
    url: server.url,
    socket,
    startedAt,
    config: { file, changedMs },
  }
  opening.use(await announceAddress(config.dataDir, address))
  opening.defer(() => stopping.abort())
  events.daemonStarted({ address: server.url, connections: config.connections.size })
  const running = opening.move()
  return { url: server.url, socket, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

function alertContext({ config, sync }: Assembly): AlertContext {
  const { store, events, now } = sync
  return { db: store.db, settings: config.alerts, watched: watchedOf(config), events, now }
}

async function startSchedules(assembly: Assembly): Promise<AsyncDisposable> {
  const { sync, config } = assembly
  const takeDueSlots = createSchedules(schedulesOf(config), scheduleTasks(sync))
  const takeDue = async (): Promise<void> => {
    // First the leaving dates whose day has come: a source that is due as well may be missing.
    await requestDueRuns(sync)
    await takeDueSlots()
  }
  await takeDue()
  return repeat(takeDue, {
    pauseMs: scheduleMs,
    failed: (error) => sync.events.unexpected({ during: 'schedules', error }),
  })
}

/** Asks for a run of each connection as soon as its source says that something new has come, where it is told to watch. */
async function startWatches({ sync }: Assembly): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  for (const { name, feeds } of sync.connections.values()) {
    const failed = (error: unknown): void => {
      const { message, type } = describeError(error)
      sync.events.sourceWatchFailed({ connection: name, reason: message ?? type })
    }
    const arrived = (): void => {
      requestRun(sync, { connection: name, trigger: 'file' }).catch(failed)
    }
    const watch = await feeds.source?.connector.watch?.({ arrived, failed })
    if (watch) starting.use(watch)
  }
  return starting.move()
}

function webhooksOf({ config, sync }: Assembly): WebhooksOptions {
  const feeds = new Map(
    [...config.connections].flatMap(([name, { webhook }]) => {
      if (!webhook) return []
      const { settings, secrets } = webhook
      return [[name, { settings, secrets: () => Promise.all(secrets.map((secret) => secret.read())) }] as const]
    }),
  )
  return { feeds, db: sync.store.db, now: sync.now, events: sync.events }
}
