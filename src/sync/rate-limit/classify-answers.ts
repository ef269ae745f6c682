import { type DeliveryFailureCode, deliveryFailures } from '../../contract/failures.ts'
import type { AnyAnswer, UnreachableReason } from '../../http/client/answer.ts'
import { retryAfterMs } from '../../http/client/retry-after.ts'
import type { RequestFailure } from './budget.ts'

/**
 * What an answer of the platform means for a delivery. Which code an answer has is decided here; what follows from a code is in the
 * table of the contract.
 *
 * - `done`: the platform has taken it.
 * - `refused`: it will not take this as it is; a batch is split until each refused person is alone.
 * - `missing`: it does not know what the path names.
 * - `wait`: no process sends until the time is over.
 * - `retry`: the outcome of the request is not known, or the platform is failing.
 * - `blocked`: nothing of the connection can be sent until an operator helps.
 */
export type AnswerClass<T = unknown> =
  | { readonly kind: 'done'; readonly status: number; readonly body: T }
  | RefusedAnswer
  | { readonly kind: 'missing'; readonly code: DeliveryFailureCode; readonly status: number; readonly message: string }
  | Stop

/** The platform refused a request, or a person in it. */
export type RefusedAnswer = {
  readonly kind: 'refused'
  readonly code: DeliveryFailureCode
  readonly status: number
  readonly message: string
}

/** What ends an attempt at a batch: the rest of it stays due. */
export type Stop = {
  readonly code: DeliveryFailureCode
  readonly status: number | string
  readonly message: string
} & (
  | { readonly kind: 'wait'; readonly delayMs: number }
  /** `notBeforeMs`: the platform named a time. */
  | { readonly kind: 'retry'; readonly notBeforeMs?: number }
  | { readonly kind: 'blocked'; readonly status: number }
)

type BodyOf<A> = A extends { readonly status: 200 | 201 | 207; readonly body: infer B } ? B : never

/** How long to wait if a 429 does not say. */
const defaultDelayMs = 15_000
/** Minimum wait after the platform asked to wait. */
const minDelayMs = 1000
/** Maximum wait, even if the platform names a longer one. */
const maxDelayMs = 60 * 60_000

const blockingCodes: Readonly<Record<number, DeliveryFailureCode>> = {
  401: 'key_refused',
  402: 'plan_lacks',
  403: 'permission_missing',
  412: 'terms_not_accepted',
}

const unreachableCodes: Readonly<Record<UnreachableReason, DeliveryFailureCode>> = {
  connect: 'not_connected',
  dns: 'name_unknown',
  tls: 'tls_failed',
  timeout: 'timed_out',
  reset: 'connection_lost',
  aborted: 'stopped',
  withheld: 'circuit_open',
}

/** The class of an answer other than the expected one. An unexpected success status is unreadable. */
export function classifyRefusal(answer: AnyAnswer): Exclude<AnswerClass, { kind: 'done' }> {
  const classified = classifyAnswer(answer)
  if (classified.kind !== 'done') return classified
  return retry('unreadable', classified.status, `the platform answers ${classified.status} where it should not`)
}

/** Treats a refusal that is not about a person as a block: nothing can be sent until an operator looks. */
export function asStop(classified: Exclude<AnswerClass, { kind: 'done' }>): Stop {
  const { kind, status, message } = classified
  if (kind !== 'refused' && kind !== 'missing') return classified
  return blockedBy(kind === 'missing' ? 'connection_missing' : 'connection_unsuitable', status, message)
}

/** A stop that blocks the connection. */
export function blockedBy(code: DeliveryFailureCode, status: number, message: string): Stop {
  return { kind: 'blocked', code, status, message }
}

/** Whether the outcome of the request that led to this stop is unknown. */
export function leavesUncertain(stop: Stop): boolean {
  return deliveryFailures[stop.code].uncertain
}

/**
 * The stop that determines how an attempt ended. A block, a pause that the platform asks for, and the end of this process affect everybody, so
 * they outrank the failure of one request. A failure outranks the open circuit that follows from it.
 */
export function decisiveStop(...stops: readonly (Stop | null)[]): Stop | null {
  const [decisive = null] = stops.flatMap((stop) => stop ?? []).toSorted((a, b) => rankOf(b) - rankOf(a))
  return decisive
}

function rankOf({ kind, code }: Stop): number {
  if (code === 'stopped') return 4
  if (kind === 'blocked') return 3
  if (code === 'rate_limited') return 2
  return kind === 'retry' ? 1 : 0
}

/** Whether the content of the request may have caused the failure, so that another request may succeed. */
export function mayBeCausedByRequest(stop: Stop): boolean {
  return stop.kind === 'retry' && stop.code !== 'stopped' && leavesUncertain(stop)
}

/** Whether, after this answer, the request may have been applied, or still may be. */
export function isUncertain(answer: AnyAnswer): boolean {
  const classified = classifyAnswer(answer)
  return classified.kind === 'retry' && leavesUncertain(classified)
}

/** Whether the answer shows that the platform is failing. Several of these in a row open its circuit. */
export function isPlatformFailing(answer: AnyAnswer): boolean {
  const classified = classifyAnswer(answer)
  return classified.kind === 'retry' && classified.code !== 'stopped'
}

/** Describes the failure that the answer shows; null if it shows none. */
export function failureOf(answer: AnyAnswer): RequestFailure | null {
  if (!isPlatformFailing(answer)) return null
  if (answer.status === 'unreachable') return { isAway: true, reason: answer.cause ?? unreachableTexts[answer.reason] }
  if (answer.status === 'unreadable') return { isAway: false, reason: 'its answer cannot be read' }
  const status = 'httpStatus' in answer ? answer.httpStatus : answer.status
  return {
    isAway: false,
    reason: status >= 300 && status < 400 ? `it redirects with ${status}` : `it answers ${status}`,
  }
}

const unreachableTexts: Readonly<Record<UnreachableReason, string>> = {
  connect: 'no connection can be made',
  dns: 'its name cannot be resolved',
  tls: 'TLS failed',
  timeout: 'no answer in time',
  reset: 'connection lost',
  aborted: 'stopped',
  withheld: 'no request sent for a while',
}

/** Classifies an answer of the platform by what follows from it. */
export function classifyAnswer<A extends AnyAnswer>(answer: A): AnswerClass<BodyOf<A>> {
  switch (answer.status) {
    case 'unreachable': {
      const { reason, message, cause, retryAfterMs: delayMs } = answer
      const known = unreachableCodes[reason]
      // An error of TLS, say, that comes after the request went out leaves its outcome open.
      const code = answer.sent && !deliveryFailures[known].uncertain ? 'connection_lost' : known
      if (reason === 'withheld') return { kind: 'wait', code, status: reason, delayMs: delayMs ?? 0, message }
      const why = cause === undefined ? reason : `${reason}: ${cause}`
      return retry(code, `unreachable: ${reason}`, `the platform cannot be reached (${why})`)
    }
    case 'unreadable': {
      const { httpStatus, reason } = answer
      return retry('unreadable', httpStatus, `the platform's answer (${httpStatus}) cannot be read: ${reason}`)
    }
    case 'undeclared':
      return classifyStatus(answer.httpStatus, answer.error.message, answer.retryAfterMs)
    default:
      if ('error' in answer) return classifyStatus(answer.status, answer.error.message, retryAfterMs(answer.headers))
      return { kind: 'done', status: answer.status, body: answer.body as BodyOf<A> }
  }
}

function classifyStatus(
  status: number,
  message: string,
  afterMs: number | null,
): Exclude<AnswerClass, { kind: 'done' }> {
  if (status >= 200 && status < 300)
    return retry('unreadable', status, `the platform answers ${status}, which does not say what became of the request`)
  const blocking = blockingCodes[status]
  if (blocking !== undefined) return blockedBy(blocking, status, `${deliveryFailures[blocking].when}: ${message}`)
  if (status === 404 || status === 405) return { kind: 'missing', code: 'person_missing', status, message }
  const patienceMs = afterMs === null ? null : Math.min(afterMs, maxDelayMs)
  if (status === 429) {
    const delayMs = Math.max(minDelayMs, patienceMs ?? defaultDelayMs)
    return { kind: 'wait', code: 'rate_limited', status, delayMs, message: 'the platform asks for patience (429)' }
  }
  if (status === 408 || status >= 500) {
    const failed = retry('server_error', status, `the platform answers ${status}`)
    return patienceMs === null ? failed : { ...failed, notBeforeMs: patienceMs }
  }
  if (status >= 300 && status < 400) {
    return retry('redirected', status, `the platform redirects (${status}); look at its base address`)
  }
  return { kind: 'refused', code: status === 413 ? 'batch_too_large' : 'batch_refused', status, message }
}

/** A refusal that is not in the form of the platform says nothing about its data. */
export function unreadableRefusal(status: number): Stop {
  return retry('unreadable', status, `the platform's answer (${status}) cannot be read: it lacks the code of a refusal`)
}

function retry(code: DeliveryFailureCode, status: number | string, message: string): Stop & { kind: 'retry' } {
  return { kind: 'retry', code, status, message }
}
