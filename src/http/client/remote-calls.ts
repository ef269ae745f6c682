import type { OperationTable } from '../../contract/operation.ts'
import type { Failure } from '../../errors.ts'
import type { AnyAnswer } from './answer.ts'
import { type Calls, callsFrom } from './calls.ts'
import { type ClientOptions, createClient } from './client.ts'

type Success = Extract<AnyAnswer, { readonly status: number; readonly body?: unknown }>

/** Every answer but a success. */
export type Unsuccessful =
  | Exclude<AnyAnswer, Success>
  | Extract<AnyAnswer, { readonly status: number; readonly error: unknown }>

/** The operations performed by a remote server. `failure` converts every answer but a success. */
export function remoteCalls<T extends OperationTable>(
  table: T,
  options: ClientOptions,
  failure: (answer: Unsuccessful) => Failure,
): Calls<T> {
  const client: Readonly<Record<keyof T, (input: never) => Promise<AnyAnswer>>> = createClient(table, options)
  return callsFrom(table, async (name, input) => {
    const answer = await client[name](input)
    if (isUnsuccessful(answer)) throw failure(answer)
    return answer.body
  })
}

function isUnsuccessful(answer: AnyAnswer): answer is Unsuccessful {
  return typeof answer.status === 'string' || 'error' in answer
}
