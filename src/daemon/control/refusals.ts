import type { control } from '../../contract/control/control.ts'
import type { Failure } from '../../errors.ts'
import { Refusal } from '../../http/refusal.ts'
import { failureStatuses } from '../../http/server/failure-statuses.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { refusing } from '../../http/server/refusing.ts'
import type { ControlContext } from './control-context.ts'
import { guardedHandlers } from './handlers.ts'

/** How the control API says a failure. The name in the body is the failure's code, so that a command can end with its exit code. */
export function refusalOf({ code, message }: Failure): Refusal {
  return new Refusal(failureStatuses[code], message, { name: code })
}

/** The handlers of the control API as a server mounts them. What is no failure is a bug: it is logged, and the caller learns no more. */
export const refusingHandlers: Handlers<typeof control, ControlContext> = refusing(guardedHandlers, {
  refusalOf,
  unexpected: (error, { name, context }) => context.sync.events.unexpected({ during: `control API: ${name}`, error }),
})
