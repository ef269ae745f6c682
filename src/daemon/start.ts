import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { removeAbandonedSpools } from '../connectors/http/lists/spool.ts'
import { releaseAbandonedDownloads } from '../connectors/remote/spool.ts'
import { serveConsole } from '../console/serve.ts'
import { control } from '../contract/control/control.ts'
import { processRoles } from '../contract/control/process-roles.ts'
import type { ProcessRole } from '../contract/control/processes.ts'
import { databaseFailure } from '../database/failures.ts'
import { localCalls } from '../http/client/calls.ts'
import type { ProcessInfo } from '../store/schema/process-info.ts'
import { requestDueRuns } from '../sync/sync.ts'
import { repeat } from '../system/repeat.ts'
import { openTurns } from '../system/turns.ts'
import type { Events } from '../telemetry/events.ts'
import { admitWithoutStore } from './access/admit-without-store.ts'
import { type OpenedAccess, openAccess, openTokens } from './access/open.ts'
import { startAlerts } from './alerts/alerts.ts'
import { type Assembly, assemble } from './assembly.ts'
import { checkAll } from './check.ts'
import type { Config } from './config/config.ts'
import type { Reloads } from './config/reload.ts'
import { Secret } from './config/secret.ts'
import { announceAddress } from './control/address-file.ts'
import { leadersOf, namesFor } from './control/hand-over.ts'
import { checkedHandlers } from './control/handlers.ts'
import { startProbeServer } from './control/probe-server.ts'
import { explainDatabaseFailures, startLocalServer, startServer } from './control/server.ts'
import type { ConfigurationReport } from './control/settings.ts'
import type { Restorations } from './control/store.ts'
import { connectionSchedules, createControlContext, monitoredConnections } from './create-control-context.ts'
import { startMailing } from './hand-over/mailing.ts'
import { startLive } from './live/live.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { serveMetrics } from './metrics/serve.ts'
import { withOutages } from './outages.ts'
import { openPlatform } from './platform.ts'
import { type PermissionResult, testPermissions } from './probe/key-permissions.ts'
import { buildProcessInfo, watchSettings } from './processes.ts'
import { openFirstLists } from './proposal/first-list.ts'
import { openFirstScims } from './proposal/first-scim.ts'
import { openFirstVisits } from './proposal/first-visit.ts'
import { openUploads, type UploadLimits } from './proposal/uploads.ts'
import { scheduleTasks } from './schedules/scheduled-runs.ts'
import { createSchedules } from './schedules/schedules.ts'
import { startWatches } from './schedules/watches.ts'
import { loadScim } from './scim/load.ts'
import { openConnectionSettings } from './settings/connection-settings.ts'
import { incomingFolder, toSyncConnection } from './sync-connection.ts'
import { serveWebhooks, type WebhooksOptions } from './webhooks/webhooks.ts'
import { startWeekly } from './weekly/mailing.ts'
import { startWork } from './work.ts'

/** A running process of the daemon. Disposing stops its work, closes its servers and then everything that it opened. */
export type Daemon = {
  /** Where webhooks, probes and, to those with a token, the control API are served. */
  readonly url: string
  /** The Unix socket of the control API; null without the role api. */
  readonly socket: string | null
  /** Stops schedules, workers and alerts. Requests are still answered. */
  stopWork(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** What a daemon needs besides its configuration. */
export type DaemonOptions = {
  readonly events: Events
  readonly now?: () => Date
  /** Restores a backup on request; left out: such requests are refused. */
  readonly restorations?: Restorations
  readonly reloads?: Reloads
  /** Default: all of them. */
  readonly roles?: readonly ProcessRole[]
  /** How often this process compares its settings with those of other processes. */
  readonly settingsCheckMs?: number
  /** The metrics of this process. They outlive the daemon, which a reload starts anew. */
  readonly metrics?: Metrics
  /** The environment that references of a configuration are read from. */
  readonly env?: NodeJS.ProcessEnv
  /** Limits of uploaded exports. */
  readonly uploadLimits?: UploadLimits
}

type ProcessParts = {
  readonly config: Config
  readonly options: DaemonOptions
  readonly assembly: Assembly
  readonly roles: readonly ProcessRole[]
  readonly metrics: Metrics
  readonly now: () => Date
  readonly events: Events
}

/** The addresses of the servers of a process. Disposing closes the servers. */
type Servers = Pick<Daemon, 'url' | 'socket'> & AsyncDisposable

const scheduleMs = 5000

/** Opens every part in order, and closes them in reverse, also when one fails to open. */
export async function startDaemon(config: Config, options: DaemonOptions): Promise<Daemon> {
  const { now = () => new Date(), roles = processRoles, metrics = createMetrics() } = options
  const events = withOutages(options.events)
  if (config.platform.isUnencrypted) events.platformReadable({ address: config.platform.baseUrl })
  for (const setting of config.outdated) events.settingOutdated({ setting })

  await using opening = new AsyncDisposableStack()
  const processInfo = buildProcessInfo(config, { roles, since: now() })
  const assembly = opening.use(await assemble(config, { events, now, processInfo }))
  const parts: ProcessParts = { config, options, assembly, roles, metrics, now, events }
  const activity = opening.use(await startActivity(parts, processInfo))
  const servers = opening.use(await (roles.includes('api') ? startApiServers(parts) : startProbes(parts)))
  events.daemonStarted({ address: servers.url, connections: config.connections.size, roles })
  if (roles.includes('api') && config.connections.size === 0)
    events.connectionAwaited({ address: servers.url, configuration: config.file })
  const running = opening.move()
  return {
    url: servers.url,
    socket: servers.socket,
    stopWork: async () => await activity[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** Starts what the process does without being asked. */
async function startActivity(
  { assembly, options, roles }: ProcessParts,
  processInfo: ProcessInfo,
): Promise<AsyncDisposable> {
  const { settingsCheckMs = 30_000 } = options
  const { config, sync } = assembly
  for (const clean of [removeAbandonedSpools, releaseAbandonedDownloads])
    await clean(incomingFolder(config)).catch((error: unknown) =>
      sync.events.unexpected({ during: 'removing copies of exports', error }),
    )
  await using starting = new AsyncDisposableStack()
  starting.use(watchSettings(sync, processInfo, { pauseMs: settingsCheckMs }))
  starting.use(await startWork(assembly, roles))
  if (roles.includes('scheduler')) {
    starting.use(await startSchedules(assembly))
    starting.use(await startWatches(sync))
    const { store, events, now } = sync
    const monitored = monitoredConnections(config)
    starting.use(startAlerts({ db: store.db, settings: config.alerts, monitored, events, now }))
    const { handOver: mails, weekly, alerts } = config
    if (mails !== null) {
      const { connectionsWithHrMails: connections = [] } = monitored
      const mailing = { connections, leaders: leadersOf(sync), addNames: namesFor(sync) }
      starting.use(startMailing({ db: store.db, mails, ...mailing, alerts, events, now }))
    }
    if (weekly !== null) {
      const connections = new Map([...config.connections].map(([name, { schedule }]) => [name, schedule]))
      const { connectionsWithoutTwoPeople = [] } = monitored
      starting.use(
        startWeekly({ db: store.db, mails: weekly, alerts, connections, connectionsWithoutTwoPeople, events, now }),
      )
    }
  }
  return starting.move()
}

async function startSchedules({ sync, config }: Assembly): Promise<AsyncDisposable> {
  const takeDueSlots = createSchedules(connectionSchedules(config), scheduleTasks(sync))
  const takeDue = async (): Promise<void> => {
    // Leaving dates whose day has come go first: a source that is due as well may be missing.
    await requestDueRuns(sync)
    await takeDueSlots()
  }
  await takeDue()
  return repeat(takeDue, {
    pauseMs: scheduleMs,
    onError: (error) => sync.events.unexpected({ during: 'schedules', error }),
  })
}

/** The server of a process without the role api: probes and metrics. */
async function startProbes(parts: ProcessParts): Promise<Servers> {
  const { config, assembly, now, events } = parts
  await using starting = new AsyncDisposableStack()
  const tokens = starting.use(await openTokens(config.server, { db: assembly.sync.store.db, now, events }))
  const { url } = starting.use(
    await startProbeServer({
      ...config.server,
      hosts: tokens.hosts,
      checks: healthChecks(assembly),
      alsoServe: async (app) => serveProcessMetrics(parts, app, tokens),
    }),
  )
  const running = starting.move()
  return { url, socket: null, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

/** The servers of a process with the role api: control API, console, webhooks, probes and metrics. */
async function startApiServers(parts: ProcessParts): Promise<Servers> {
  const { config, assembly, now, events } = parts
  const { db } = assembly.sync.store
  await using starting = new AsyncDisposableStack()
  const stopping = new AbortController()
  const startedAt = now().toISOString()
  const uploads = starting.use(
    await openUploads(join(config.dataDir, 'uploads'), {
      now,
      failed: (error) => events.unexpected({ during: 'uploads', error }),
      limits: parts.options.uploadLimits,
    }),
  )
  const { restorations, reloads, env = {} } = parts.options
  const { signal } = stopping
  const firstParts = {
    config,
    env,
    sync: assembly.sync,
    signal,
    toSync: toSyncConnection,
    tryKey: (key: string, stop: AbortSignal) => tryGivenKey(config, key, stop),
    takeUp: reloads?.ask ?? null,
    inTurn: openTurns(),
    limits: uploads.limits,
  }
  const context = {
    ...createControlContext(assembly, { daemon: { pid: process.pid, startedAt }, restorations, reloads, signal }),
    configured: configuredOf(assembly),
    firstVisits: starting.use(openFirstVisits({ ...firstParts, uploads })),
    firstLists: starting.use(openFirstLists(firstParts)),
    firstScims: openFirstScims({ ...firstParts, requirePackages: loadScim }),
    connectionSettings: starting.use(openConnectionSettings({ ...firstParts, reloads })),
    live: starting.use(startLive(db)),
  }
  const { socket } = starting.use(await startLocalServer({ dataDir: config.dataDir, context }))
  const access = starting.use(await openAccess(config.server, { db, now, events }))
  const { url } = starting.use(
    await startServer({
      ...config.server,
      hosts: access.hosts,
      admit: access.admit,
      admitReader: access.admitReader,
      context,
      alsoServe: async (app) => {
        await serveWebhooks(app, webhooksOf(assembly))
        await servePushed(app, parts, access)
        await serveConsole(app, {
          access: access.access,
          control: (caller, requestSignal) =>
            localCalls(control, checkedHandlers, { ...context, caller, requestSignal }),
          now,
          failureOf: databaseFailure,
          unexpected: (error, route) => events.unexpected({ during: `console: ${route}`, error }),
        })
        serveProcessMetrics(parts, app, access)
      },
      checks: healthChecks(assembly),
    }),
  )
  starting.use(await announceAddress(config.dataDir, { pid: process.pid, url, socket, startedAt }))
  starting.defer(() => stopping.abort())
  await access.announce(url)
  const running = starting.move()
  return { url, socket, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

function healthChecks({ sync, queue }: Assembly) {
  return { store: () => sync.lease.renew(), queue: () => queue.check() }
}

function serveProcessMetrics(
  { config, assembly, metrics }: ProcessParts,
  app: FastifyInstance,
  { admit }: Pick<OpenedAccess, 'admit'>,
): void {
  const { sync, queue, audit } = assembly
  const { maxLeaverHours } = monitoredConnections(config)
  serveMetrics(app, {
    metrics,
    context: { sync, queue, schedules: connectionSchedules(config), maxLeaverHours, audit },
    admit: config.server.metrics === 'open' ? null : explainDatabaseFailures(admitWithoutStore(admit)),
  })
}

async function tryGivenKey(config: Config, key: string, signal: AbortSignal): Promise<readonly PermissionResult[]> {
  const configured = { ...config, platform: { ...config.platform, apiKey: new Secret([{ text: key }]) } }
  await using platform = openPlatform(configured, null)
  return await testPermissions(platform, signal)
}

function configuredOf({ config, sync, queue }: Assembly): ConfigurationReport {
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

/** Serves the connections that are pushed. Their code is loaded only where there are any. */
async function servePushed(
  app: FastifyInstance,
  { config, assembly }: ProcessParts,
  { admitSender: admit }: Pick<OpenedAccess, 'admitSender'>,
): Promise<void> {
  const feeds = new Map(
    [...config.connections].flatMap(([name, { pushed }]) => (pushed ? [[name, pushed] as const] : [])),
  )
  if (feeds.size === 0) return
  const serveScim = await loadScim()
  const { store, now, events } = assembly.sync
  await serveScim(app, { feeds, db: store.db, now, events, admit, publicUrl: config.server.publicUrl })
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
