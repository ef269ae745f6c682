import type { control } from '../../contract/control/control.ts'
import type { FailureCode } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { Refusal } from '../../http/server/refusal.ts'
import { refusing } from '../../http/server/refusing.ts'
import { careful } from './careful.ts'
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
  store_lost: 503,
  store_damaged: 503,
  queue_unreachable: 503,
  alert_unsent: 503,
  not_found: 404,
  conflict: 409,
  audit_broken: 409,
}

/** The handlers of the control API as a server mounts them. What is no failure is a bug: it is logged, and the caller learns no more. */
export const refusingHandlers: Handlers<typeof control, ControlContext> = refusing(careful(controlHandlers), {
  refusalOf: ({ code, message }) => new Refusal(statuses[code], message, { name: code }),
  unexpected: (error, { name, context }) => context.sync.events.unexpected({ during: `control API: ${name}`, error }),
})
