import { control } from '../../contract/control/control.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { controlHandlers } from './control.ts'
import type { ControlContext } from './control-context.ts'
import { withChecks } from './with-checks.ts'

/** The handlers of the whole control API, for HTTP, console and commands: with permission checks and explained database failures. */
export const checkedHandlers: Handlers<typeof control, ControlContext> = withChecks(control, controlHandlers)
