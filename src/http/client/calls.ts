import type { z } from 'zod'
import type { ArgumentsOf, Operation, OperationTable } from '../../contract/operation.ts'
import { Failure } from '../../errors.ts'
import { describeIssues } from '../issues.ts'
import type { Handlers } from '../server/mount.ts'

/** A function for each operation of a table. It returns the body of the success, or throws a Failure. */
export type Calls<T extends OperationTable> = {
  readonly [K in keyof T]: (input: ArgumentsOf<T[K]>) => Promise<BodyOf<T[K]>>
}

type BodyOf<O extends Operation> = {
  [S in keyof O['success']]: O['success'][S] extends z.ZodType ? z.output<O['success'][S]> : undefined
}[keyof O['success']]

type Reply = { readonly status: number; readonly body?: unknown }

/** The operations performed in this process, with the checks of a server. */
export function localCalls<T extends OperationTable, Ctx>(
  table: T,
  handlers: Handlers<T, Ctx>,
  context: Ctx,
): Calls<T> {
  return callsFrom(table, async (name, input, operation) => {
    // The table's type relates each handler to its operation. The loop loses this relation.
    const handler: (context: Ctx, input: never) => Promise<Reply> = handlers[name]
    const { body } = await handler(context, parseInput(operation, input))
    return body
  })
}

/** A call for each operation of a table. */
export function callsFrom<T extends OperationTable>(
  table: T,
  call: (name: keyof T, input: never, operation: Operation) => Promise<unknown>,
): Calls<T> {
  const members = Object.entries(table).map(
    ([name, operation]) => [name, (input: never) => call(name, input, operation)] as const,
  )
  // One member for each operation, as the type says. The type of the loop cannot express this.
  return Object.fromEntries(members) as Calls<T>
}

function parseInput(operation: Operation, input: Readonly<Record<string, unknown>>): never {
  const parts = (['params', 'query', 'body'] as const).flatMap((part) => {
    const schema = operation[part]
    if (!schema) return []
    // A caller may leave out a query in which nothing is required, as in an address.
    const result = schema.safeParse(input[part] ?? (part === 'query' ? {} : undefined))
    if (!result.success) throw new Failure('usage', describeIssues(result.error))
    return [[part, result.data] as const]
  })
  return Object.fromEntries(parts) as never
}
