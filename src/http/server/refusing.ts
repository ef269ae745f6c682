import type { OperationTable } from '../../contract/operation.ts'
import { Failure } from '../../errors.ts'
import { Refusal } from '../refusal.ts'
import type { Handlers } from './mount.ts'

type Refusing<Ctx> = {
  /** How a failure is answered; null for one that the caller cannot act on. */
  readonly refusalOf: (failure: Failure) => Refusal | null
  /** Told of everything that is no such failure: the caller learns no more than that it was not done. */
  readonly unexpected?: (error: unknown, of: { readonly name: string; readonly context: Ctx }) => void
}

/** Handlers that throw Failures, as a server mounts them. */
export function refusing<T extends OperationTable, Ctx>(
  handlers: Handlers<T, Ctx>,
  { refusalOf, unexpected }: Refusing<Ctx>,
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
  // One handler for each operation, as before; the type of a table's loop cannot say so.
  return Object.fromEntries(wrapped) as unknown as Handlers<T, Ctx>
}
