import { once } from 'node:events'
import { startDaemon } from '../../daemon/start.ts'
import { createEvents } from '../../telemetry/events.ts'
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
  const daemon = await startDaemon(config, { events })
  if (!stop.signal.aborted) await once(stop.signal, 'abort')

  const stoppingAt = performance.now()
  events.daemonStopping({ reason: stop.received() ?? 'stopped' })
  // The store is the truth: ending hard loses nothing, and a stop does not take for ever.
  const deadline = setTimeout(() => process.exit(1), stopWithinMs)
  await daemon[Symbol.asyncDispose]()
  clearTimeout(deadline)
  events.daemonStopped({ durationMs: Math.round(performance.now() - stoppingAt) })
  return 0
}
