import { Failure } from '../../errors.ts'
import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import { WalkInterrupted } from '../../http/client/walk.ts'
import type { Platform, PlatformClient } from '../../sync/context/context.ts'
import { type AnswerClass, classifyAnswer, type Stop } from '../../sync/rate-limit/classify-answers.ts'
import { failureOfStop } from './check-result.ts'

/** How a probe sends requests to the platform, until the signal aborts. */
export type ProbeContext = { readonly platform: Platform; readonly signal: AbortSignal }

/** A classified answer after which the probe can continue. */
type Outcome<A extends AnyAnswer> = Exclude<ReturnType<typeof classifyAnswer<A>>, Stop>

/** Sends a read request. Throws a failure if the platform cannot be asked further, and the signal's reason after a stop. */
export async function read<A extends AnyAnswer>(
  { platform, signal }: ProbeContext,
  call: (client: PlatformClient, options: { signal: AbortSignal }) => Promise<A>,
): Promise<Outcome<A | Unreachable>> {
  const answer = await platform.rateLimiter.send(() => call(platform.client, { signal }), signal)
  signal.throwIfAborted()
  return outcomeOf(platform, answer)
}

/** Sends a changing request. A stop does not interrupt it, because its outcome would be unknown; it takes effect before the next request. */
export async function change<A extends AnyAnswer>(
  { platform, signal }: ProbeContext,
  call: (client: PlatformClient) => Promise<A>,
): Promise<Outcome<A | Unreachable>> {
  return outcomeOf(platform, await platform.rateLimiter.send(() => call(platform.client), signal))
}

/** Reads all pages of a list. */
export async function readWhole<Entry>(
  { platform, signal }: ProbeContext,
  entries: AsyncIterable<Entry>,
): Promise<Entry[]> {
  try {
    return await Array.fromAsync(entries)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof WalkInterrupted)) throw error
    throw unexpectedFailure(platform, outcomeOf(platform, error.answer))
  }
}

/** The failure for an answer after which the probe cannot continue. */
export function unexpectedFailure({ baseUrl }: Platform, outcome: Exclude<AnswerClass, Stop>): Failure {
  return new Failure('contract_differs', `${baseUrl} ${answerText(outcome)}`)
}

/** The answer in words, to append to the name of the platform. */
export function answerText(outcome: Exclude<AnswerClass, Stop>): string {
  const message = outcome.kind === 'done' ? '' : `: ${outcome.message}`
  return `answers ${outcome.status}${message}`
}

function outcomeOf<A extends AnyAnswer>(platform: Platform, answer: A): Outcome<A> {
  const classified = classifyAnswer(answer)
  switch (classified.kind) {
    case 'wait':
    case 'retry':
    case 'blocked':
      throw failureOfStop(platform, classified)
    default:
      return classified
  }
}
