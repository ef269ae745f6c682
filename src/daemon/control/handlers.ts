import { control } from '../../contract/control/control.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { controlHandlers } from './control.ts'
import type { ControlContext } from './control-context.ts'
import { guarded } from './guarded.ts'

/** The handlers of the whole control API for every entrance, with permission checks and checks of inputs and the store. */
export const guardedHandlers: Handlers<typeof control, ControlContext> = guarded(control, controlHandlers)
