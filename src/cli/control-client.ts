import type { z } from 'zod'
import { control, controlPrefix } from '../contract/control/control.ts'
import type { ArgumentsOf, Operation } from '../contract/operation.ts'
import { type ControlContext, controlHandlers } from '../daemon/control/control.ts'
import { Failure, type FailureCode, failures } from '../errors.ts'
import { createClient } from '../http/client.ts'
import { describeIssues } from '../http/issues.ts'

// The plan of a large company takes a while to make, and is one long document.
const timeoutMs = 600_000
const maxResponseBytes = 512 * 1024 * 1024

type Table = typeof control
type Name = keyof Table
type BodyOf<O extends Operation> = {
  [S in keyof O['success']]: O['success'][S] extends z.ZodType ? z.output<O['success'][S]> : undefined
}[keyof O['success']]

/** The control API as the commands use it: an answer, or a Failure. It is the same whether a daemon answers or this process does the work. */
export type Control = { readonly [K in Name]: (input: ArgumentsOf<Table[K]>) => Promise<BodyOf<Table[K]>> }

type Answer =
  | { readonly status: number; readonly body?: unknown }
  | { readonly status: number; readonly error: Refused }
  | { readonly status: 'undeclared'; readonly httpStatus: number; readonly error: Refused }
  | { readonly status: 'unreadable'; readonly httpStatus: number; readonly reason: string }
  | { readonly status: 'unreachable'; readonly reason: string }

type Refused = { readonly message: string; readonly name: string | null }

/** Asks the daemon that listens at this address. */
export function controlOverHttp({ baseUrl, token }: { baseUrl: string; token: string }): Control {
  const client: Readonly<Record<Name, (input: never) => Promise<Answer>>> = createClient(control, {
    baseUrl: `${baseUrl}${controlPrefix}`,
    bearer: token,
    timeoutMs,
    maxResponseBytes,
  })
  return controlFrom(async (name, input) => {
    const answer = await client[name](input)
    switch (answer.status) {
      case 'unreachable':
        throw new Failure('already_active', `the daemon at ${baseUrl} does not answer (${answer.reason})`)
      case 'unreadable':
        throw new Failure('already_active', `what listens at ${baseUrl} is no daemon of Rollcall (${answer.reason})`)
      case 'undeclared':
        throw refusal(answer.error, answer.httpStatus)
      default:
        if ('error' in answer) throw refusal(answer.error, answer.status)
        return answer.body
    }
  })
}

/** Does in this process what the daemon would do. */
export function controlHere(context: ControlContext): Control {
  const handlers: Readonly<Record<Name, (context: ControlContext, input: never) => Promise<{ body?: unknown }>>> =
    controlHandlers
  return controlFrom(async (name, input) => {
    const { body } = await handlers[name](context, parsed(control[name], input))
    return body
  })
}

function controlFrom(call: (name: Name, input: never) => Promise<unknown>): Control {
  const names = Object.keys(control) as Name[]
  const members = names.map((name) => [name, (input: never) => call(name, input)] as const)
  // One member for each operation, as the type says; the type of a table's loop cannot.
  return Object.fromEntries(members) as Control
}

function parsed(operation: Operation, input: Readonly<Record<string, unknown>>): never {
  const parts = (['params', 'query', 'body'] as const).flatMap((part) => {
    const schema = operation[part]
    if (!schema) return []
    const result = schema.safeParse(input[part])
    if (!result.success) throw new Failure('usage', describeIssues(result.error))
    return [[part, result.data] as const]
  })
  return Object.fromEntries(parts) as never
}

function refusal({ message, name }: Refused, status: number): Failure {
  if (name !== null && Object.hasOwn(failures, name)) return new Failure(name as FailureCode, message)
  if (status === 400) return new Failure('usage', message)
  if (status === 404) return new Failure('not_found', message)
  if (status === 401) return new Failure('blocked', `the daemon does not accept the control token: ${message}`)
  return new Failure('conflict', `the daemon answered ${status}: ${message}`)
}
