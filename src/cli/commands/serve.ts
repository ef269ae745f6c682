import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { ProcessRole, Reload } from '../../contract/control/processes.ts'
import type { Restoration } from '../../contract/control/store.ts'
import type { Config } from '../../daemon/config/config.ts'
import { type Reloads, refusalReason, refuseFixed } from '../../daemon/config/reload.ts'
import { checkRestore, type RestoreRequest, restoreStore } from '../../daemon/installation/restore.ts'
import { createMetrics } from '../../daemon/metrics/metrics.ts'
import { parseRoles, requireAllRoles } from '../../daemon/processes.ts'
import { type Daemon, startDaemon } from '../../daemon/start.ts'
import { Failure, type FailureCode } from '../../errors.ts'
import { createEvents, type Events } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/log.ts'
import { onErrorOutputLost, standardOutput } from '../../text/print.ts'
import { type HangUps, listenForHangUp } from '../session/hang-ups.ts'
import { type CommonOptions, configOf } from '../session/session.ts'
import { listenForStop } from '../session/stop-signal.ts'

/** The options of `rollcall serve`. */
export type ServeOptions = CommonOptions & { readonly roles?: string; readonly port?: number }

const stopWithinMs = 20_000
const maxWaitSeconds = 15
/** The browser of the person who asked loads another page first: a restarting daemon answers nobody for a moment. */
const restartDelayMs = 1000
/** The failures that the first start of the process waits out. */
const awaited: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'database_unreachable',
  'disk_full',
  'queue_unreachable',
])
/** A start after a reload or a restore waits for these too: a command may be using the embedded store that the daemon had released. */
const awaitedAgain: ReadonlySet<FailureCode> = awaited.union(new Set<FailureCode>(['already_active']))

/** Runs the daemon until it is asked to stop. It restarts after a restore, and with a new configuration after SIGHUP. */
export async function serve(options: ServeOptions): Promise<number> {
  const log = createLogger({ level: 'info', ...(options.json && { pretty: false }) })
  onErrorOutputLost(reportLogLost)
  const metrics = createMetrics({ ofProcess: true })
  const events = createEvents(log, metrics.record)
  const roles = parseRoles(options.roles ?? 'api,scheduler,worker')
  let config = await configToServe(options, roles)
  using stop = listenForStop()
  // Also during a reload or a restore. The store is the truth: a hard end loses nothing.
  endWithin(stop.signal, stopWithinMs, () => {
    events.daemonCutOff({ seconds: stopWithinMs / 1000 })
    process.exit(0)
  })
  using hangUps = listenForHangUp(() => process.kill(process.pid, 'SIGTERM'))
  let restoration: Restoration | null = null
  const reloads: Reloads & { last: Reload | null } = {
    last: null,
    ask: () => setTimeout(hangUps.request, restartDelayMs),
  }
  let lastGood: Config | null = null
  for (;;) {
    const { requested, ask } = acceptOnce<RequestedRestore>()
    const check = async (request: RestoreRequest) => (await checkRestore(config, request)).size
    const restorations = { last: restoration, check, ask }
    const former = lastGood
    const daemon = await startDaemonWithRetries(
      () => startDaemon(config, { events, restorations, reloads, roles, metrics, env: process.env }),
      {
        events,
        stop: stop.signal,
        awaits: former === null ? awaited : awaitedAgain,
      },
    ).catch((error: unknown) => {
      // A mistake that shows only when everything is opened, such as a missing key file, must not end what worked before.
      if (former === null || former === config) throw error
      recordRefusal(error)
      return 'former' as const
    })
    if (daemon === null) return 0
    if (daemon === 'former') {
      config = former ?? config
      continue
    }
    lastGood = config
    const next = await nextLife({ requested, stop: stop.signal, hangUps, reread })
    if (next === null) return await stopDaemon(daemon, { events, reason: stop.received() ?? 'stopped' })
    events.daemonStopping({ reason: 'config' in next ? 'reload' : 'restore' })
    // Requests are still answered while running work ends.
    await daemon.stopWork()
    await daemon[Symbol.asyncDispose]()
    if ('config' in next) config = next.config
    else restoration = await tryRestore(config, next, events)
  }

  /** The configuration as it is now; null if it cannot be used, which is reported. */
  async function reread(): Promise<Config | null> {
    try {
      const next = await configToServe(options, roles)
      await refuseFixed(config, next)
      reloads.last = { at: new Date().toISOString(), refused: null }
      events.configReloaded({ connections: next.connections.size })
      return next
    } catch (error) {
      recordRefusal(error)
      return null
    }
  }

  function recordRefusal(error: unknown): void {
    if (!(error instanceof Failure)) events.unexpected({ during: 'reload', error })
    const reason = refusalReason(error)
    reloads.last = { at: new Date().toISOString(), refused: reason }
    events.configRefused({ reason })
  }
}

function reportLogLost(code: string): void {
  standardOutput.print(`! the log can no longer be written (${code}); the daemon continues without it\n`)
}

async function configToServe(options: ServeOptions, roles: readonly ProcessRole[]): Promise<Config> {
  const config = await configOf(options)
  requireAllRoles(config, roles)
  return options.port === undefined ? config : { ...config, server: { ...config.server, port: options.port } }
}

type StartOptions = { readonly events: Events; readonly stop: AbortSignal; readonly awaits: ReadonlySet<FailureCode> }

/** Starts the daemon, and again after each failure that it waits out. Null: a stop was requested before it started. */
async function startDaemonWithRetries(
  start: () => Promise<Daemon>,
  { events, stop, awaits }: StartOptions,
): Promise<Daemon | null> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await start()
    } catch (error) {
      if (!(error instanceof Failure) || !awaits.has(error.code)) throw error
      const seconds = Math.min(maxWaitSeconds, 2 ** attempt)
      events.daemonWaiting({ reason: error.message, seconds })
      const isOver = await pause(seconds * 1000, false, { signal: stop }).catch(() => true)
      if (isOver) return null
    }
  }
}

/** Accepts one request; further ones are refused. */
export function acceptOnce<T>(): { readonly requested: Promise<T>; ask(request: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>()
  let isRequested = false
  return {
    requested: promise,
    ask(request) {
      if (isRequested)
        throw new Failure('already_active', 'a restore was just requested: the daemon is restarting for it')
      isRequested = true
      resolve(request)
    },
  }
}

type RequestedRestore = RestoreRequest & { readonly id: string }

type RestartCauses = {
  readonly requested: Promise<RequestedRestore>
  readonly stop: AbortSignal
  readonly hangUps: HangUps
  readonly reread: () => Promise<Config | null>
}

/** Why the daemon has to restart: a restore, or a new configuration. Null: it has to stop. */
export async function nextLife({
  requested,
  stop,
  hangUps,
  reread,
}: RestartCauses): Promise<RequestedRestore | { config: Config } | null> {
  const stopped = waitForAbort(stop)
  for (;;) {
    const cause = await Promise.race([requested, stopped, hangUps.requested().then(() => 'hang up' as const)])
    if (cause !== 'hang up') return cause
    hangUps.reset()
    const config = await reread()
    if (config !== null) return { config }
  }
}

async function waitForAbort(signal: AbortSignal): Promise<null> {
  if (!signal.aborted) await once(signal, 'abort')
  return null
}

/** Restores the store while no daemon runs. A failure leaves the store unchanged, and the next daemon reports it. */
async function tryRestore(config: Config, { id, ...request }: RequestedRestore, events: Events): Promise<Restoration> {
  try {
    const done = await restoreStore(config, request, { events, now: () => new Date() })
    events.storeRestored({ madeAt: done.madeAt, people: done.people, by: request.by })
    return { id, restored: done, failure: null }
  } catch (error) {
    events.unexpected({ during: 'restore', error })
    const code = error instanceof Failure ? error.code : 'conflict'
    const message = error instanceof Failure ? error.message : 'an unexpected error ended the restore; the log has it'
    return { id, restored: null, failure: { code, message } }
  }
}

/** Cuts off what has not ended some time after the stop signal. */
export function endWithin(stop: AbortSignal, limitMs: number, cutOff: () => void): void {
  stop.addEventListener('abort', () => setTimeout(cutOff, limitMs).unref(), { once: true })
}

/** Stops the daemon: first its work, then its servers. */
export async function stopDaemon(
  daemon: Pick<Daemon, 'stopWork' | typeof Symbol.asyncDispose>,
  { events, reason }: { events: Events; reason: string },
): Promise<number> {
  const stoppingAt = performance.now()
  events.daemonStopping({ reason })
  // Webhooks, probes and commands are still answered while running work ends.
  await daemon.stopWork()
  await daemon[Symbol.asyncDispose]()
  events.daemonStopped({ durationMs: Math.round(performance.now() - stoppingAt) })
  return 0
}
