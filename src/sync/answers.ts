import type { AnyAnswer } from '../http/answer.ts'

/**
 * What a delivery does with an answer of the platform: the one place that says so.
 *
 * - `done`: the platform has taken it.
 * - `refused`: it will not take this as it is; a batch is split until the guilty are alone.
 * - `missing`: it does not know what the path names.
 * - `wait`: it asks for patience; nobody sends until then.
 * - `retry`: nobody knows what became of the request, or the platform is unwell.
 * - `blocked`: nothing of the connection can pass until a person helps.
 */
export type Judgement<T = unknown> =
  | { readonly kind: 'done'; readonly status: number; readonly body: T }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }
  | { readonly kind: 'missing'; readonly status: number; readonly message: string }
  | Stop

/** What ends an attempt at a batch: the rest of it stays due. */
export type Stop =
  | { readonly kind: 'wait'; readonly status: number; readonly delayMs: number; readonly message: string }
  | { readonly kind: 'retry'; readonly status: number | string; readonly message: string }
  | { readonly kind: 'blocked'; readonly status: number; readonly message: string }

type BodyOf<A> = A extends { readonly status: 200 | 201 | 207; readonly body: infer B } ? B : never

/** The judgement of an answer that is known not to be what was asked for. */
export function judgeRefusal(answer: AnyAnswer): Exclude<Judgement, { kind: 'done' }> {
  const judged = judgeAnswer(answer)
  if (judged.kind !== 'done') return judged
  return { kind: 'retry', status: judged.status, message: `the platform answers ${judged.status} where it should not` }
}

/** A refusal that names no person: nothing can be sent until somebody looks. */
export function asStop(judged: Exclude<Judgement, { kind: 'done' }>): Stop {
  const { kind, status, message } = judged
  return kind === 'refused' || kind === 'missing' ? { kind: 'blocked', status, message } : judged
}

/** How long to be patient where a 429 does not say. */
const unsaidPatienceMs = 15_000

const blocking: Readonly<Record<number, string>> = {
  401: 'the platform does not accept the API key (401)',
  402: "the platform account's plan does not include custom connections (402)",
  403: 'the API key lacks a permission (403)',
  412: 'the platform account has not accepted the terms (412)',
}

export function judgeAnswer<A extends AnyAnswer>(answer: A): Judgement<BodyOf<A>> {
  switch (answer.status) {
    case 'unreachable':
      return {
        kind: 'retry',
        status: `unreachable: ${answer.reason}`,
        message: `the platform cannot be reached (${answer.reason})`,
      }
    case 'unreadable':
      return {
        kind: 'retry',
        status: answer.httpStatus,
        message: `the platform's answer (${answer.httpStatus}) cannot be read: ${answer.reason}`,
      }
    case 'undeclared':
      return judgeStatus(answer.httpStatus, answer.error.message, answer.retryAfterMs)
    default:
      if ('error' in answer) return judgeStatus(answer.status, answer.error.message, null)
      return { kind: 'done', status: answer.status, body: answer.body as BodyOf<A> }
  }
}

function judgeStatus(
  status: number,
  message: string,
  retryAfterMs: number | null,
): Exclude<Judgement, { kind: 'done' }> {
  const block = blocking[status]
  if (block !== undefined) return { kind: 'blocked', status, message: `${block}: ${message}` }
  if (status === 404 || status === 405) return { kind: 'missing', status, message }
  if (status === 429) {
    return {
      kind: 'wait',
      status,
      delayMs: retryAfterMs ?? unsaidPatienceMs,
      message: 'the platform asks for patience (429)',
    }
  }
  if (status === 408 || status >= 500) return { kind: 'retry', status, message: `the platform answers ${status}` }
  if (status >= 300 && status < 400) {
    return { kind: 'retry', status, message: `the platform redirects (${status}); look at its base address` }
  }
  return { kind: 'refused', status, message }
}
