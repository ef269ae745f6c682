import { controlContext } from '../daemon/start.ts'
import type { Config } from '../daemon/config/config.ts'
import type { ControlContext } from '../daemon/control/control.ts'
import { openParts } from '../daemon/assembly.ts'
import { startWork } from '../daemon/work.ts'
import { createEvents } from '../telemetry/events.ts'
import { createLogger } from '../telemetry/log.ts'

export type Here = { readonly context: ControlContext; [Symbol.asyncDispose](): Promise<void> }

/** Opens the store in this process, for a command that finds no daemon, and starts workers where the command works. */
export async function openHere(
  config: Config,
  { works, signal }: { works: boolean; signal: AbortSignal },
): Promise<Here> {
  await using opening = new AsyncDisposableStack()
  // What a run does is told by the command itself; the log is for what nobody expected.
  const events = createEvents(createLogger({ level: 'error' }))
  const parts = opening.use(await openParts(config, { events, now: () => new Date() }))
  if (works) opening.use(await startWork(parts))
  const opened = opening.move()
  return {
    context: controlContext(parts, { daemon: null, signal }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
