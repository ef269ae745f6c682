import type { control } from '../../contract/control/control.ts'
import { Failure, type FailureCode } from '../../errors.ts'
import type { Handlers } from '../../http/mount.ts'
import { Refusal } from '../../http/refusal.ts'
import { type ControlContext, controlHandlers } from './control.ts'

/** How the control API says each failure. The name in the body is the failure's code, so that a command can end with its exit code. */
const statuses: Readonly<Record<FailureCode, number>> = {
  usage: 400,
  run_held: 409,
  source_unreadable: 422,
  source_unreachable: 503,
  platform_unreachable: 503,
  finished_with_problems: 409,
  run_failed: 409,
  already_active: 409,
  blocked: 409,
  config_invalid: 422,
  database_unreachable: 503,
  queue_unreachable: 503,
  not_found: 404,
  conflict: 409,
}

/** The handlers of the control API as a server mounts them. What is no failure is a bug: it is logged, and the caller learns no more. */
export const refusingHandlers: Handlers<typeof control, ControlContext> = Object.fromEntries(
  Object.entries(controlHandlers).map(([name, handler]) => [name, refusing(name, handler)]),
) as typeof controlHandlers

type Handler = (context: ControlContext, input: never) => Promise<unknown>

function refusing(name: string, handler: Handler): Handler {
  return async (context, input) => {
    try {
      return await handler(context, input)
    } catch (error) {
      if (error instanceof Failure) throw new Refusal(statuses[error.code], error.message, { name: error.code })
      context.sync.events.unexpected({ during: `control API: ${name}`, error })
      throw error
    }
  }
}
