import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { serveConsole } from '../console/serve.ts'
import { control } from '../contract/control/control.ts'
import { processRoles } from '../contract/control/process-roles.ts'
import type { ProcessRole } from '../contract/control/processes.ts'
import { databaseFailure } from '../database/failures.ts'
import { localCalls } from '../http/client/calls.ts'
import { requestDueRuns } from '../sync/sync.ts'
import { repeat } from '../system/repeat.ts'
import type { Events } from '../telemetry/events.ts'
import { type OpenedAccess, openAccess, openTokens } from './access/open.ts'
import { type AlertContext, startAlerts } from './alerts/alerts.ts'
import {
  type Assembly,
  assemble,
  controlContext,
  connectionSchedules,
  toSyncConnection,
  monitoredConnections,
} from './assembly.ts'
import { checkAll } from './check.ts'
import type { Config } from './config/config.ts'
import type { Reloads } from './config/reload.ts'
import { Secret } from './config/secret.ts'
import { announceAddress } from './control/address-file.ts'
import { guardedHandlers } from './control/handlers.ts'
import { startProbeServer } from './control/probe-server.ts'
import { carefully, startLocalServer, startServer } from './control/server.ts'
import type { Configured } from './control/settings.ts'
import type { Restorations } from './control/store.ts'
import { startLive } from './live/live.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import type { ReadingContext } from './metrics/readings.ts'
import { serveMetrics } from './metrics/serve.ts'
import { withOutages } from './outages.ts'
import { openPlatform } from './platform.ts'
import { type PermissionResult, testPermissions } from './probe/key-permissions.ts'
import { processCard, watchSettings } from './processes.ts'
import { openFirstVisits } from './proposal/first-visit.ts'
import { openUploads, type UploadLimits } from './proposal/uploads.ts'
import { scheduleTasks } from './schedules/scheduled-runs.ts'
import { createSchedules } from './schedules/schedules.ts'
import { startWatches } from './schedules/watches.ts'
import { serveWebhooks, type WebhooksOptions } from './webhooks/webhooks.ts'
import { startWork } from './work.ts'

export type Daemon = {
  /** Where webhooks, probes and, to those with a token, the control API are served. */
  readonly url: string
  /** The Unix socket of the control API; null without the role api. */
  readonly socket: string | null
  /** Ends what the daemon does by itself, while it still answers. */
  stopWork(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export type DaemonOptions = {
  readonly events: Events
  readonly now?: () => Date
  /** What is to be done about a restoration that is asked for; left out: it is refused. */
  readonly restorations?: Restorations
  readonly reloads?: Reloads
  /** Default: all of them. */
  readonly roles?: readonly ProcessRole[]
  /** How often the settings of other processes are looked at. */
  readonly settingsLookMs?: number
  /** Where this process counts. They outlive the daemon. */
  readonly metrics?: Metrics
  /** What references of a configuration name. */
  readonly env?: NodeJS.ProcessEnv
  /** How large an export may be that a person uploads, how many there may be, and for how long. */
  readonly uploadLimits?: UploadLimits
}

const scheduleMs = 5000

/** Opens every part in order, and closes them in reverse, also when one fails to open. */
export async function startDaemon(
  config: Config,
  {
    events: log,
    now = () => new Date(),
    restorations,
    reloads,
    roles = processRoles,
    settingsLookMs = 30_000,
    metrics = createMetrics(),
    env = {},
    uploadLimits,
  }: DaemonOptions,
): Promise<Daemon> {
  const events = withOutages(log)
  await using opening = new AsyncDisposableStack()
  const stopping = new AbortController()
  if (config.platform.isReadable) events.platformReadable({ address: config.platform.baseUrl })
  for (const setting of config.outdated) events.settingOutdated({ setting })
  const card = processCard(config, { roles, since: now() })
  const assembly = opening.use(await assemble(config, { events, now, card }))
  const activity = opening.use(new AsyncDisposableStack())
  const stopWork = () => activity.disposeAsync()
  activity.use(watchSettings(assembly.sync, card, { pauseMs: settingsLookMs }))
  activity.use(await startWork(assembly, roles))
  if (roles.includes('scheduler')) {
    activity.use(await startSchedules(assembly))
    activity.use(await startWatches(assembly.sync))
    activity.use(startAlerts(alertContext(assembly)))
  }
  const { db } = assembly.sync.store
  const checks = { store: () => assembly.sync.lease.renew(), queue: () => assembly.queue.check() }
  const alsoMetrics = (app: FastifyInstance, { admit }: Pick<OpenedAccess, 'admit'>): void =>
    serveMetrics(app, {
      metrics,
      context: readingContext(assembly),
      admit: config.server.metrics === 'open' ? null : carefully(admit),
    })
  if (!roles.includes('api')) {
    const tokens = opening.use(await openTokens(config.server, { db, now, events }))
    const alsoServe = async (app: FastifyInstance): Promise<void> => alsoMetrics(app, tokens)
    const { url } = opening.use(await startProbeServer({ ...config.server, hosts: tokens.hosts, checks, alsoServe }))
    events.daemonStarted({ address: url, connections: config.connections.size, roles })
    const running = opening.move()
    return { url, socket: null, stopWork, [Symbol.asyncDispose]: () => running.disposeAsync() }
  }

  const uploads = opening.use(
    await openUploads(join(config.dataDir, 'uploads'), {
      now,
      failed: (error) => events.unexpected({ during: 'uploads', error }),
      ...(uploadLimits && { limits: uploadLimits }),
    }),
  )
  const startedAt = now().toISOString()
  const context = {
    ...controlContext(assembly, {
      daemon: { pid: process.pid, startedAt },
      ...(restorations && { restorations }),
      ...(reloads && { reloads }),
      signal: stopping.signal,
    }),
    configured: configuredOf(assembly),
    firstVisits: openFirstVisits({
      ...{ config, env, uploads, sync: assembly.sync, signal: stopping.signal },
      toSync: toSyncConnection,
      tryKey: (key, signal) => tryGivenKey(config, key, signal),
      takeUp: reloads?.ask ?? null,
    }),
    live: opening.use(startLive(assembly.sync.store.db)),
  }
  const { socket } = opening.use(await startLocalServer({ dataDir: config.dataDir, context }))
  const door = opening.use(await openAccess(config.server, { db, now, events }))
  const server = opening.use(
    await startServer({
      ...config.server,
      hosts: door.hosts,
      admit: door.admit,
      admitReader: door.admitReader,
      context,
      alsoServe: async (app) => {
        await serveWebhooks(app, webhooksOf(assembly))
        await serveConsole(app, {
          access: door.access,
          control: (caller) => localCalls(control, guardedHandlers, { ...context, caller }),
          now,
          failureOf: databaseFailure,
          unexpected: (error, route) => events.unexpected({ during: `console: ${route}`, error }),
        })
        alsoMetrics(app, door)
      },
      checks,
    }),
  )
  const address = { pid: process.pid, url: server.url, socket, startedAt }
  opening.use(await announceAddress(config.dataDir, address))
  opening.defer(() => stopping.abort())
  await door.announce(server.url)
  events.daemonStarted({ address: server.url, connections: config.connections.size, roles })
  if (config.connections.size === 0) events.connectionAwaited({ address: server.url, configuration: config.file })
  const running = opening.move()
  return { url: server.url, socket, stopWork, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

async function tryGivenKey(config: Config, key: string, signal: AbortSignal): Promise<readonly PermissionResult[]> {
  const given = { ...config, platform: { ...config.platform, apiKey: new Secret([{ text: key }]) } }
  await using platform = openPlatform(given, null)
  return await testPermissions(platform, signal)
}

function configuredOf({ config, sync, queue }: Assembly): Configured {
  const { file, changedMs, settings } = config
  const { store, events, now } = sync
  return {
    file,
    changedMs,
    settings,
    check: (signal) =>
      checkAll(config, { opened: { store, queue }, findDaemon: async () => null, events, now, signal }),
  }
}

function readingContext({ config, sync, queue, audit }: Assembly): ReadingContext {
  const { leaverBounds } = monitoredConnections(config)
  return { sync, queue, schedules: connectionSchedules(config), leaverBounds, audit }
}

function alertContext({ config, sync }: Assembly): AlertContext {
  const { store, events, now } = sync
  return { db: store.db, settings: config.alerts, monitored: monitoredConnections(config), events, now }
}

async function startSchedules(assembly: Assembly): Promise<AsyncDisposable> {
  const { sync, config } = assembly
  const takeDueSlots = createSchedules(connectionSchedules(config), scheduleTasks(sync))
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
