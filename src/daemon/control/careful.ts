import type { OperationTable } from '../../contract/operation.ts'
import { databaseFailure } from '../../database/failures.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'

/**
 * Handlers that refuse texts that no database can hold, and that explain an unreachable or failing store to an operator. The same for the
 * server and for a command that does the work itself.
 */
export function careful<T extends OperationTable, Ctx>(handlers: Handlers<T, Ctx>): Handlers<T, Ctx> {
  type Handler = (context: Ctx, input: never) => Promise<unknown>
  const wrapped = Object.entries<Handler>(handlers).map(([name, handler]) => {
    const carefully: Handler = async (context, input) => {
      const path = nulIn(input)
      if (path !== null) throw new Failure('usage', `${path}: holds the character U+0000, which no text of ours holds`)
      try {
        return await handler(context, input)
      } catch (error) {
        throw databaseFailure(error) ?? error
      }
    }
    return [name, carefully] as const
  })
  // One handler for each operation, as before; the type of a table's loop cannot say so.
  return Object.fromEntries(wrapped) as unknown as Handlers<T, Ctx>
}

/** The path of the first text in an input with the one character that PostgreSQL refuses; null if there is none. */
function nulIn(value: unknown, path = ''): string | null {
  if (typeof value === 'string') return value.includes('\0') ? path : null
  if (typeof value !== 'object' || value === null || Symbol.asyncIterator in value) return null
  for (const [name, inner] of Object.entries(value)) {
    const nested = name.includes('\0')
      ? path
      : nulIn(inner, ['', 'params', 'query', 'body'].includes(path) ? name : `${path}.${name}`)
    if (nested !== null) return nested
  }
  return null
}
