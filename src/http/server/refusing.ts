import type { OperationTable } from '../../contract/operation.ts'
import { Failure } from '../../errors.ts'
import { Refusal } from '../refusal.ts'
import type { Handlers } from './mount.ts'

type RefusalOptions<Ctx> = {
  /** The refusal for a failure; null if the caller cannot act on it. */
  readonly refusalOf: (failure: Failure) => Refusal | null
  /** Called with any other error. The caller only learns that the request failed. */
  readonly unexpected?: (error: unknown, of: { readonly name: string; readonly context: Ctx }) => void
}

/** Turns handlers that throw Failures into handlers that a server can mount. */
export function refusing<T extends OperationTable, Ctx>(
  handlers: Handlers<T, Ctx>,
  { refusalOf, unexpected }: RefusalOptions<Ctx>,
): Handlers<T, Ctx> {
  type Handler = (context: Ctx, input: never) => Promise<unknown>
  const wrapped = Object.entries<Handler>(handlers).map(([name, handler]) => {
    const refuse: Handler = async (context, input) => {
      try {
        return await handler(context, input)
      } catch (error) {
        if (error instanceof Refusal) throw error
        const refusal = error instanceof Failure ? refusalOf(error) : null
        if (refusal !== null) throw refusal
        unexpected?.(error, { name, context })
        throw error
      }
    }
    return [name, refuse] as const
  })
  // One handler for each operation, as before. The type of the loop cannot express this.
  return Object.fromEntries(wrapped) as unknown as Handlers<T, Ctx>
}
