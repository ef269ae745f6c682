import type { OperationTable } from '../../contract/operation.ts'
import { databaseFailure } from '../../database/failures.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'

/**
 * Makes handlers refuse texts that no database can store, and explain an unreachable or failing database to the operator. Server and
 * commands share it.
 */
export function withDatabaseFailures<T extends OperationTable, Ctx>(handlers: Handlers<T, Ctx>): Handlers<T, Ctx> {
  type Handler = (context: Ctx, input: never) => Promise<unknown>
  const wrapped = Object.entries<Handler>(handlers).map(([name, handler]) => {
    const checked: Handler = async (context, input) => {
      const path = nulIn(input)
      if (path !== null) throw new Failure('usage', `${path}: holds the character U+0000, which no text of ours holds`)
      try {
        return await handler(context, input)
      } catch (error) {
        throw databaseFailure(error) ?? error
      }
    }
    return [name, checked] as const
  })
  // Still one handler for each operation, which the type of `Object.fromEntries` cannot express.
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
