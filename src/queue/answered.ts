import { setTimeout as after } from 'node:timers/promises'
import { Failure } from '../errors.ts'
import { isConnectionError } from './connection-errors.ts'

/** Whether the promise settled, well or badly, before the time was over. Its own outcome is left to its maker. */
export async function settledWithin(limitMs: number, promise: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  const settled = promise.then(
    () => true,
    () => true,
  )
  const late = after(limitMs, false, { signal: timer.signal }).catch(() => false)
  try {
    return await Promise.race([settled, late])
  } finally {
    timer.abort()
  }
}

/** What a queue answers, or a `queue_unreachable` failure if its server is away. */
export function answered<T>(answer: Promise<T>, place: string): Promise<T> {
  return answer.catch((error: unknown) => {
    throw isConnectionError(error) ? unreachable(place, error) : error
  })
}

/** The same for a caller that cannot wait: an answer that takes longer than the limit counts as none. */
export async function answeredWithin<T>(limitMs: number, answer: Promise<T>, place: string): Promise<T> {
  if (!(await settledWithin(limitMs, answer))) throw unreachable(place)
  return answered(answer, place)
}

function unreachable(place: string, cause?: unknown): Failure {
  return new Failure('queue_unreachable', `The queue in ${place} does not answer: check that it runs`, { cause })
}
