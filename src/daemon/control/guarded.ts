import type { Handlers } from '../../http/server/mount.ts'
import { careful } from './careful.ts'
import { type Acting, type Asking, type Permitted, permitted } from './permitted.ts'

/** Handlers for every entrance, with permission checks and checks of inputs and the store. */
export function guarded<T extends Permitted, Ctx extends Asking>(
  table: T,
  handlers: Handlers<T, Ctx & Acting>,
): Handlers<T, Ctx> {
  return careful(permitted(table, handlers))
}
