import type { control } from '../../contract/control/control.ts'
import type { Failure } from '../../errors.ts'
import { Refusal } from '../../http/refusal.ts'
import { failureStatuses } from '../../http/server/failure-statuses.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { refusing } from '../../http/server/refusing.ts'
import type { ControlContext } from './control-context.ts'
import { checkedHandlers } from './handlers.ts'

/**
 * The response of the control API for a failure. The name in the body is the failure's code, so that a command can exit with its exit code.
 */
export function refusalOf({ code, message }: Failure): Refusal {
  return new Refusal(failureStatuses[code], message, { name: code })
}

/** The handlers of the control API as a server mounts them. Other errors are bugs: they are logged, and the caller learns nothing more. */
export const refusingHandlers: Handlers<typeof control, ControlContext> = refusing(checkedHandlers, {
  refusalOf,
  unexpected: (error, { name, context }) => context.sync.events.unexpected({ during: `control API: ${name}`, error }),
})
