import type { ConnectorContext } from '../../connector.ts'
import { addressLabel } from '../client/address-label.ts'
import type { ResponseHeaders } from '../client/body.ts'
import { openHttpClient } from '../client/client.ts'
import type { CredentialHeaders, HttpRequest } from '../client/request.ts'
import type { ResolveHost } from '../network/addresses.ts'
import type { Clock } from '../network/clock.ts'
import type { HttpSource } from '../settings/settings.ts'
import { lateAbort } from './late-abort.ts'

const maxAnswerBytes = 1024 * 1024
const maxAnswerWaitMs = 60_000

/** What requests for tokens need besides the settings of the source. */
export type TokenContext = {
  readonly context: ConnectorContext
  readonly resolve: ResolveHost
  readonly clock: Clock
  readonly onWait?: (reason: string) => void
}

/** A request for a token, with headers of its own. */
export type TokenRequest = Omit<HttpRequest, 'label' | 'acceptedStatuses' | 'readsFailures'> & {
  readonly headers: CredentialHeaders
  /** The setting that holds its address. */
  readonly at: 'login.url' | 'oauth2.tokenUrl'
  /** Whether its answer is awaited even after the signal aborted, because the server may have acted on it. Default: no. */
  readonly mustBeAnswered?: boolean
}

/** The answer to a request for a token, whatever its status. `label` names the address in failures. */
export type TokenAnswer = {
  readonly label: string
  readonly status: number
  readonly headers: ResponseHeaders
  readonly content: Buffer
}

/**
 * Requests a token with a client of its own, under the rules of the source: checked addresses, certificates, limits of time. Redirects
 * are not followed, because the request holds secrets. When the signal aborts, nothing more is sent, and a request that must be answered
 * has a limited time left for that.
 */
export async function exchangeToken(
  source: HttpSource,
  { headers, at, mustBeAnswered = false, ...request }: TokenRequest,
  { signal, ...options }: TokenContext & { readonly signal: AbortSignal },
): Promise<TokenAnswer> {
  const { url } = request
  const label = addressLabel(options.context, { at, url })
  // Headers of the configuration may be secrets of the server of the list.
  const isSameOrigin = url.origin === new URL(source.url).origin
  const answerWaitMs = mustBeAnswered ? waitForAnswerMs(source) : 0
  const settings = {
    ...source,
    url: url.href,
    headers: isSameOrigin ? source.headers : {},
    maxBytes: maxAnswerBytes,
    firstByteTimeoutMs: undefined,
    requestsPerMinute: undefined,
    // The time of the reading ends by its signal.
    totalTimeoutMs: source.totalTimeoutMs + answerWaitMs,
  }
  const authorizer = {
    headers: async () => {
      signal.throwIfAborted()
      return headers
    },
  }
  using late = lateAbort(signal, answerWaitMs)
  const ending = mustBeAnswered ? { signal: late.signal, clock: abortableWaits(options.clock, signal) } : { signal }
  await using client = await openHttpClient(settings, {
    ...options,
    ...ending,
    authorizer,
    sizeHelp: 'check the address',
  })
  return await client.read({ ...request, label, readsFailures: true }, async (response) => {
    const content = Buffer.concat(await Array.fromAsync(response.body))
    return { label, status: response.status, headers: response.headers, content }
  })
}

function waitForAnswerMs({ idleTimeoutMs, firstByteTimeoutMs = idleTimeoutMs }: HttpSource): number {
  return Math.min(maxAnswerWaitMs, idleTimeoutMs, firstByteTimeoutMs)
}

/** A clock whose waits, during which no request is on its way, end with a second signal too. */
function abortableWaits(clock: Clock, second: AbortSignal): Clock {
  return { ...clock, wait: (ms, signal) => clock.wait(ms, AbortSignal.any([signal, second])) }
}
