import { once } from 'node:events'
import type { Restoration } from '../../contract/control/store.ts'
import type { Config } from '../../daemon/config/config.ts'
import { checkRestore, type RestoreRequest, restoreStore } from '../../daemon/installation/restore.ts'
import { type Daemon, startDaemon } from '../../daemon/start.ts'
import { Failure } from '../../errors.ts'
import { createEvents, type Events } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/log.ts'
import { type CommonOptions, configOf } from '../session.ts'
import { listenForStop } from '../stop-signal.ts'

const stopWithinMs = 20_000

/** Runs the daemon until it is asked to stop. */
export async function serve(options: CommonOptions): Promise<number> {
  const config = await configOf(options)
  const log = createLogger({ level: 'info', ...(options.json && { pretty: false }) })
  const events = createEvents(log)
  using stop = listenForStop()
  const check = async (request: RestoreRequest) => (await checkRestore(config, request)).size
  let last: Restoration | null = null
  for (;;) {
    const asked = Promise.withResolvers<AskedRestore>()
    const daemon = await startDaemon(config, { events, restorations: { last, check, ask: asked.resolve } })
    const request = await Promise.race([asked.promise, aborted(stop.signal)])
    if (request === null) return await ended(daemon, { events, reason: stop.received() ?? 'stopped' })
    events.daemonStopping({ reason: 'restore' })
    await daemon[Symbol.asyncDispose]()
    last = await restored(config, request, events)
  }
}

type AskedRestore = RestoreRequest & { readonly id: string }

async function aborted(signal: AbortSignal): Promise<null> {
  if (!signal.aborted) await once(signal, 'abort')
  return null
}

/** Puts the store back between two lives of the daemon. A failure leaves the store as it was, and is told by the next life. */
async function restored(config: Config, { id, ...request }: AskedRestore, events: Events): Promise<Restoration> {
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

async function ended(daemon: Daemon, { events, reason }: { events: Events; reason: string }): Promise<number> {
  const stoppingAt = performance.now()
  events.daemonStopping({ reason })
  // The store is the truth: ending hard loses nothing, and a stop does not take for ever.
  const deadline = setTimeout(() => {
    events.daemonCutOff({ seconds: stopWithinMs / 1000 })
    process.exit(0)
  }, stopWithinMs)
  await daemon[Symbol.asyncDispose]()
  clearTimeout(deadline)
  events.daemonStopped({ durationMs: Math.round(performance.now() - stoppingAt) })
  return 0
}
