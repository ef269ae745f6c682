import { type Refusal, refusalBody } from '../refusal.ts'

/** An answer with a JSON body. */
export type JsonAnswer = { readonly status: number; readonly body?: unknown; readonly type?: string }

/** The answer to a refused request at an address, if it is not the one of the contract. */
export type AnswerOf = (refusal: Refusal, url: string) => JsonAnswer | null

/** The answer to a refused request. The address is unknown if no request could be read. */
export function refusalAnswer(
  refusal: Refusal,
  { answerOf, url }: { readonly answerOf: AnswerOf; readonly url: string | undefined },
): JsonAnswer {
  const own = url === undefined ? null : answerOf(refusal, url)
  return own ?? { status: refusal.status, body: refusalBody(refusal) }
}
