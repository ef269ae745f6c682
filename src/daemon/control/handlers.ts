import { control } from '../../contract/control/control.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { controlHandlers } from './control.ts'
import type { ControlContext } from './control-context.ts'
import { guarded } from './guarded.ts'

/** The control API as every way in has it: with the checks of who may, and careful with the store. */
export const guardedHandlers: Handlers<typeof control, ControlContext> = guarded(control, controlHandlers)
