import type { z } from 'zod'
import type { Operation } from '../../contract/operation.ts'

/** The headers of a response, by lower-case name. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The content of an error body. `code` and `name` are null if the body lacks them. */
export type AnswerError = { readonly message: string; readonly code: number | null; readonly name: string | null }

/** Why a server was not reached. */
export type UnreachableReason = 'connect' | 'dns' | 'tls' | 'timeout' | 'reset' | 'aborted' | 'withheld'

/** A status that the operation does not list: 429, 503, a redirect. `retryAfterMs` is null if the server named no time. */
type UndeclaredAnswer = {
  readonly status: 'undeclared'
  readonly httpStatus: number
  readonly error: AnswerError
  readonly retryAfterMs: number | null
}

/** A listed status with a body that does not match the operation. The request may have been applied. */
export type Unreadable = { readonly status: 'unreadable'; readonly httpStatus: number; readonly reason: string }

/** No response. `sent` is false if the request was certainly never sent. `retryAfterMs`: when a request that was withheld here may be sent. */
export type Unreachable = {
  readonly status: 'unreachable'
  readonly reason: UnreachableReason
  readonly message: string
  readonly sent: boolean
  /** Further details, if more is known than the reason. */
  readonly cause?: string
  readonly retryAfterMs?: number
}

type Success<O extends Operation> = {
  [S in keyof O['success'] & number]: O['success'][S] extends z.ZodType
    ? { readonly status: S; readonly body: z.output<O['success'][S]>; readonly headers: ResponseHeaders }
    : { readonly status: S; readonly body?: undefined; readonly headers: ResponseHeaders }
}[keyof O['success'] & number]

type ListedAnswer<O extends Operation> = {
  [S in O['errors'][number]]: { readonly status: S; readonly error: AnswerError; readonly headers: ResponseHeaders }
}[O['errors'][number]]

/** All possible results of a request, as a union discriminated by `status`. */
export type Answer<O extends Operation> = Success<O> | ListedAnswer<O> | UndeclaredAnswer | Unreadable | Unreachable

/** An answer whose operation is known at run time only. */
export type AnyAnswer =
  | { readonly status: number; readonly body?: unknown; readonly headers: ResponseHeaders }
  | { readonly status: number; readonly error: AnswerError; readonly headers: ResponseHeaders }
  | UndeclaredAnswer
  | Unreadable
  | Unreachable

type AnswerKind = 'taken' | 'refused' | 'limited' | 'failing' | 'unreadable' | 'unreachable'

/** The kind of result of a request. */
export function kindOf(answer: AnyAnswer): AnswerKind {
  if (answer.status === 'unreadable' || answer.status === 'unreachable') return answer.status
  const status = statusOf(answer)
  if (status === 429) return 'limited'
  if (status >= 500) return 'failing'
  return status >= 200 && status < 300 ? 'taken' : 'refused'
}

/** The HTTP status; 0 if there is none. */
export function statusOf(answer: AnyAnswer): number {
  if ('httpStatus' in answer) return answer.httpStatus
  return typeof answer.status === 'number' ? answer.status : 0
}
