import type { Dispatcher } from 'undici'
import { unreadable } from '../../file/failures.ts'
import type { Clock } from '../network/clock.ts'
import { isBrokenConnection, isCutResponse, tooLongWait, toRequestFailure } from '../network/failures.ts'
import type { RequestLimits } from '../network/limits.ts'
import type { Pacer } from './pacer.ts'
import {
  type Authorizer,
  type Connection,
  type CredentialHeaders,
  discardBody,
  type HttpRequest,
  sendOnce,
} from './request.ts'
import { statedWaitMs } from './stated-wait.ts'

// A limit per hour may let a request through only now and then.
const maxLimitedAttempts = 12
const maxTroubledAttempts = 4
const firstBackoffMs = 1000
const maxBackoffMs = 60_000

const troubledStatuses = new Set([502, 503, 504])

/** What every request of a client uses. */
export type Sender = Omit<Connection, 'signal'> & {
  readonly authorizer: Authorizer
  readonly limits: RequestLimits
  readonly pacer: Pacer
  readonly clock: Clock
  /** Called with a text when the server makes the reader wait. */
  readonly onWait?: (reason: string) => void
}

type Response = Dispatcher.ResponseData

/** What became of one attempt. */
type Attempt = { readonly response: Response } | { readonly error: unknown }

/**
 * Sends a request until it gets an answer that can be used: after the wait that a rate limit asks for, after a pause when the server is
 * in trouble or breaks the connection, and once more with new credentials after a status 401.
 */
export async function sendWithRetries(sender: Sender, request: HttpRequest): Promise<Response> {
  const { authorizer } = sender
  let isRenewed = false
  for (let attempt = 1; ; attempt += 1) {
    const credentials = await nextCredentials(sender, request)
    const outcome = await attemptOnce(sender, request, credentials)
    if ('response' in outcome && outcome.response.statusCode === 401 && authorizer.renew) {
      discardBody(outcome.response)
      if (isRenewed) throw newCredentialsRefused(request.label)
      isRenewed = true
      await renewCredentials(sender, request, credentials)
      continue
    }
    if (!shouldRepeat(sender, request, outcome, attempt)) return finalResponse(sender, request, outcome)
    await waitToRepeat(sender, request, outcome, attempt)
  }
}

type ReadSteps<R, T> = { readonly fetch: () => Promise<R>; readonly read: (response: R) => Promise<T> }

/** Fetches a response and reads it. Repeats both if the connection breaks within the body. */
export async function readWithRetries<R, T>(
  sender: Sender,
  request: HttpRequest,
  { fetch, read }: ReadSteps<R, T>,
): Promise<T> {
  const { isRepeatable = true } = request
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch()
    try {
      return await read(response)
    } catch (error) {
      if (!isRepeatable || !isCutResponse(error) || attempt === maxTroubledAttempts) throw error
      await waitToRepeat(sender, request, { error }, attempt)
    }
  }
}

/** Waits until the request may be sent, and reads its credentials then. */
function nextCredentials({ authorizer, pacer, limits }: Sender, { label }: HttpRequest): Promise<CredentialHeaders> {
  return withLimits(limits, label, async () => {
    await pacer.turn(limits.either)
    return authorizer.headers(limits.either)
  })
}

function renewCredentials({ authorizer, limits }: Sender, { label }: HttpRequest, refused: CredentialHeaders) {
  return withLimits(limits, label, async () => authorizer.renew?.(refused, limits.either))
}

async function attemptOnce(sender: Sender, request: HttpRequest, credentials: CredentialHeaders): Promise<Attempt> {
  try {
    return { response: await sendOnce({ ...sender, signal: sender.limits.either }, request, credentials) }
  } catch (error) {
    return { error }
  }
}

function shouldRepeat({ limits }: Sender, { isRepeatable = true }: HttpRequest, outcome: Attempt, attempt: number) {
  if ('error' in outcome) {
    const isBroken = !limits.either.aborted && isBrokenConnection(outcome.error)
    return isBroken && isRepeatable && attempt < maxTroubledAttempts
  }
  const { statusCode: status } = outcome.response
  // A server that limits requests has done nothing for this one.
  if (status === 429) return attempt < maxLimitedAttempts
  return troubledStatuses.has(status) && isRepeatable && attempt < maxTroubledAttempts
}

function finalResponse({ limits }: Sender, { label }: HttpRequest, outcome: Attempt): Response {
  if ('error' in outcome) throw toRequestFailure(outcome.error, { label, limits })
  return outcome.response
}

/** Waits before the next attempt. Throws if the server asks to wait longer than the reading may take. */
async function waitToRepeat(
  { limits, pacer, clock, onWait }: Sender,
  { label }: HttpRequest,
  outcome: Attempt,
  attempt: number,
): Promise<void> {
  const status = 'response' in outcome ? outcome.response.statusCode : null
  const stated = 'response' in outcome ? wantedWaitMs(outcome.response, clock) : null
  if ('response' in outcome) discardBody(outcome.response)
  // A server that keeps asking for no wait at all would get all attempts at once.
  const pauseMs = stated === null ? backoffMs(attempt, clock) : attempt > 1 ? backoffMs(attempt - 1, clock) : 0
  const waitMs = Math.max(stated ?? 0, pauseMs)
  if (waitMs > limits.remainingMs()) throw tooLongWait({ status, label, waitMs, remainingMs: limits.remainingMs() })
  const reason = status === 429 ? 'the server has had too many requests' : 'the server is in trouble'
  if (waitMs > 0) onWait?.(`waiting ${Math.ceil(waitMs / 1000)} s: ${reason}`)
  if (status === 429) pacer.pause(waitMs)
  else await withLimits(limits, label, () => clock.wait(waitMs, limits.either))
}

function wantedWaitMs({ statusCode: status, headers }: Response, clock: Clock): number | null {
  return statedWaitMs({ status, headers, now: clock.now() })
}

/** Twice as long with each attempt. Half of it is random, so that what failed together is not repeated together. */
function backoffMs(attempt: number, { random }: Clock): number {
  const fullMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (attempt - 1))
  return Math.round(fullMs * (0.5 + random() / 2))
}

function newCredentialsRefused(label: string): Error {
  return unreadable(
    `${label} does not accept a new token either (status 401)`,
    'check for which system the token is issued, its scope, and what the client may read',
  )
}

/** Runs a step that uses the network or waits. If it fails, the failure names the limit or the server. */
export async function withLimits<T>(limits: RequestLimits, label: string, step: () => Promise<T>): Promise<T> {
  try {
    limits.either.throwIfAborted()
    return await step()
  } catch (error) {
    throw toRequestFailure(error, { label, limits })
  }
}
