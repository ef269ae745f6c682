import { control } from '../../contract/control/control.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { careful } from './careful.ts'
import { type ControlContext, controlHandlers } from './control.ts'
import { permitted } from './permitted.ts'

/** The control API as every way in has it: with the checks of who may, and careful with the store. */
export const guardedHandlers: Handlers<typeof control, ControlContext> = careful(permitted(control, controlHandlers))
