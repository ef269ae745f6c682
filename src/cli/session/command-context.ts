import { planOperations } from '../../contract/control/plans.ts'
import { assemble } from '../../daemon/assembly.ts'
import type { Config } from '../../daemon/config/config.ts'
import type { ControlContext } from '../../daemon/control/control-context.ts'
import { planHandlers } from '../../daemon/control/plans.ts'
import { withChecks } from '../../daemon/control/with-checks.ts'
import { createControlContext } from '../../daemon/create-control-context.ts'
import { localCalls } from '../../http/client/calls.ts'
import { lazyFunctions } from '../../http/client/lazy-functions.ts'
import { createEvents } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/log.ts'
import type { Control } from './control-client.ts'

type LocalControl = { readonly control: Control; [Symbol.asyncDispose](): Promise<void> }

/** How a command uses a store: it only reads, it requests something, or it also does the work that it requests. */
export type CommandContext = { readonly hasWorkers?: boolean; readonly isReadOnly?: boolean }

/** Opens the store in this process, for a command that finds no daemon, and starts workers if the command does the work itself. */
export async function openLocally(
  config: Config,
  { hasWorkers = false, isReadOnly = false, signal }: CommandContext & { signal: AbortSignal },
): Promise<LocalControl> {
  await using opening = new AsyncDisposableStack()
  // The command itself reports what a run does; the log is for unexpected events.
  const events = createEvents(createLogger({ level: 'error' }))
  const assembly = opening.use(
    await assemble(config, { events, now: () => new Date(), tracesRuns: hasWorkers, isReadOnly }),
  )
  if (hasWorkers) {
    const { startWork, tidyUp: tidyAtTheEnd } = await import('../../daemon/work.ts')
    opening.defer(() => tidyAtTheEnd(assembly))
    opening.use(await startWork(assembly))
  }
  const opened = opening.move()
  return {
    control: localControl(createControlContext(assembly, { daemon: null, signal })),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Answers calls of the control API in this process. All handlers take as long to load as a plan takes, so plans load only their own. */
export function localControl(context: ControlContext): Control {
  const handlers = withChecks<typeof planOperations, ControlContext>(planOperations, planHandlers)
  const plans = localCalls(planOperations, handlers, context)
  return lazyFunctions<Control>(async (name) => (Object.hasOwn(plans, name) ? plans : await allHandlers(context)))
}

async function allHandlers(context: ControlContext): Promise<Control> {
  const [{ control }, { checkedHandlers }] = await Promise.all([
    import('../../contract/control/control.ts'),
    import('../../daemon/control/handlers.ts'),
  ])
  return localCalls(control, checkedHandlers, context)
}
