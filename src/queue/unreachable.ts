import { setTimeout as after } from 'node:timers/promises'
import { errorCode, Failure } from '../errors.ts'
import { isConnectionError } from './connection-errors.ts'

/** Whether a promise resolves or rejects within the limit. Its result is not used. */
export async function settlesWithin(limitMs: number, promise: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  const finished = promise.then(
    () => true,
    () => true,
  )
  const late = after(limitMs, false, { signal: timer.signal }).catch(() => false)
  try {
    return await Promise.race([finished, late])
  } finally {
    timer.abort()
  }
}

/** The answer of a queue. Fails with `queue_unreachable` if its server is unreachable. */
export function orUnreachable<T>(answer: Promise<T>, location: string): Promise<T> {
  return answer.catch((error: unknown) => {
    throw isConnectionError(error) ? unreachable(location, error) : error
  })
}

/** The same with a time limit. */
export async function orUnreachableWithin<T>(limitMs: number, answer: Promise<T>, location: string): Promise<T> {
  if (!(await settlesWithin(limitMs, answer))) throw unreachable(location)
  return orUnreachable(answer, location)
}

const refusals: readonly (readonly [RegExp, string])[] = [
  [/^OOM |^53100$/, 'is full: give it more memory or disk, or find what else fills it'],
  [/^READONLY |^25006$/, 'takes no writes, as a replica does: name the primary server'],
  [/^MISCONF /, 'cannot write to its disk, and takes no writes: free some space on it'],
  [/^NOREPLICAS /, 'takes no writes while its replicas are away'],
  [/^LOADING /, 'still reads its data: wait'],
  [/^(?:NOAUTH|WRONGPASS) /, 'refuses the credentials: set user name and password in its address'],
]

function unreachable(location: string, cause?: unknown): Failure {
  const messages = [cause instanceof Error ? cause.message : '', errorCode(cause) ?? '']
  const why = refusals.find(([pattern]) => messages.some((text) => pattern.test(text)))?.[1]
  const problem = why ?? 'does not answer: check that it runs'
  return new Failure('queue_unreachable', `The queue in ${location} ${problem}`, { cause })
}
