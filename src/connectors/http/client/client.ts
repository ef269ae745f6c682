import type { Agent } from 'undici'
import type { ConnectorContext } from '../../connector.ts'
import { unreadable } from '../../file/failures.ts'
import { fixedLookup, type ResolveHost, resolveCheckedAddresses } from '../network/addresses.ts'
import { type Clock, systemClock } from '../network/clock.ts'
import { insufficientScope, statusFailure } from '../network/failures.ts'
import { openRequestLimits } from '../network/limits.ts'
import { type ByteBudget, decodedBody, type ResponseHeaders } from './body.ts'
import { openGate } from './gate.ts'
import { openPacer } from './pacer.ts'
import { type Authorizer, type ClientSettings, discardBody, type HttpRequest } from './request.ts'
import { readWithRetries, type Sender, sendWithRetries, withLimits } from './retries.ts'
import { statedWaitMs } from './stated-wait.ts'
import { tlsMaterial } from './tls.ts'

/** How many requests of one client run at the same time. The others wait. */
export const maxConnections = 4

const maxRedirects = 5
const maxHeaderBytes = 32 * 1024
const redirectStatuses = new Set([301, 302, 303, 307, 308])

const maxUnusedBytes = 16 * 1024

/**
 * A response with status 200 whose body is still to be read, or with another status that the request accepts and an empty body. If the request
 * has `readsFailures`: a response with any status, whose body is still to be read. `url` is its address after all redirects.
 */
export type HttpResponse = {
  readonly url: URL
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: AsyncIterable<Buffer>
}

/** Fetches addresses of one origin: scheme, host and port. Disposing closes its connections. */
export type HttpClient = AsyncDisposable & {
  /**
   * Follows redirects on the same origin. Throws a failure for every status but 200 and those that the request accepts. With `readsFailures`,
   * returns every response, redirects too.
   */
  readonly fetch: (request: HttpRequest) => Promise<HttpResponse>
  /**
   * Like `fetch`, and reads the response. If the connection breaks within the body, the request is sent again, so `read` may be called
   * several times.
   */
  readonly read: <T>(request: HttpRequest, read: (response: HttpResponse) => Promise<T>) => Promise<T>
  /** Whether the byte limit or the time limit of all responses is exceeded, so that no further request can succeed. */
  readonly isExhausted: () => boolean
}

/** What a client needs besides the settings of the source. */
type HttpClientOptions = {
  readonly context: ConnectorContext
  readonly resolve: ResolveHost
  readonly signal: AbortSignal
  readonly authorizer: Authorizer
  readonly clock?: Clock
  /** Called with a text when the server makes the reader wait. */
  readonly onWait?: (reason: string) => void
  /** What to do when the responses have more bytes than they may. */
  readonly sizeHelp?: string
}

/** A client that connects only to the checked addresses of the host in `url`. All its responses share one byte limit and one time limit. */
export async function openHttpClient(source: ClientSettings, options: HttpClientOptions): Promise<HttpClient> {
  const { context, signal, authorizer, onWait, clock = systemClock } = options
  const home = new URL(source.url)
  const limits = openRequestLimits(source.totalTimeoutMs, signal, clock)
  const agent = await openAgent(source, options)
  const pacer = openPacer(source.requestsPerMinute, clock)
  const sender: Sender = { source, context, authorizer, agent, limits, pacer, clock, onWait }
  const help = options.sizeHelp ?? 'check the address, or raise maxBytes'
  const budget: ByteBudget = { remainingBytes: source.maxBytes, maxBytes: source.maxBytes, help }
  const fetch = (request: HttpRequest) => followRedirects({ sender, home, budget }, request)
  // Without the gate, requests would queue in the agent after they passed the rate limit and took credentials: a later pause could not stop
  // them, and the credentials could expire.
  const gate = openGate(maxConnections)
  return {
    fetch,
    read: (request, read) => gate(() => readWithRetries(sender, request, { fetch: () => fetch(request), read })),
    isExhausted: () => limits.timeout.aborted || budget.remainingBytes < 0,
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}

async function openAgent(source: ClientSettings, { context, resolve }: HttpClientOptions): Promise<Agent> {
  const addresses = await resolveCheckedAddresses(new URL(source.url), { ...source, resolve })
  const undici = await import('undici')
  return new undici.Agent({
    allowH2: false,
    connections: maxConnections,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: source.firstByteTimeoutMs ?? source.idleTimeoutMs,
    bodyTimeout: source.idleTimeoutMs,
    connect: {
      ...(await tlsMaterial(source, context)),
      // Overrides NODE_TLS_REJECT_UNAUTHORIZED and the command line of Node.
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      timeout: source.connectTimeoutMs,
      lookup: fixedLookup(addresses),
    },
  })
}

type ClientState = { readonly sender: Sender; readonly home: URL; readonly budget: ByteBudget }

async function followRedirects({ sender, home, budget }: ClientState, request: HttpRequest): Promise<HttpResponse> {
  const { limits, clock } = sender
  const { label, acceptedStatuses = [], readsFailures = false } = request
  let { url } = request
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    checkOrigin(url, home, label)
    const response = await sendWithRetries(sender, { ...request, url })
    const { statusCode: status, headers } = response
    if (status === 200 || readsFailures)
      return { url, status, headers, body: decodedBody(response, { label, budget, limits }) }
    if (acceptedStatuses.includes(status)) {
      // Reading a short body keeps the connection open for the next request.
      await withLimits(limits, label, () => response.body.dump({ limit: maxUnusedBytes, signal: limits.either }))
      return { url, status, headers, body: noBody() }
    }
    discardBody(response)
    if (status === 403 && lacksScope(headers)) throw insufficientScope(label)
    if (!redirectStatuses.has(status))
      throw statusFailure(status, label, statedWaitMs({ status, headers, now: clock.now() }))
    url = redirectTarget(headers.location, url, label)
  }
  throw unreadable(`${label} redirects more than ${maxRedirects} times`, 'write the last address as url')
}

async function* noBody(): AsyncGenerator<Buffer> {}

// RFC 6750, section 3.1.
function lacksScope(headers: ResponseHeaders): boolean {
  return /\berror="?insufficient_scope\b/.test(String(headers['www-authenticate'] ?? ''))
}

// The credentials are sent to the host of url only, and only its responses are trusted.
function checkOrigin(url: URL, home: URL, label: string): void {
  if (url.origin === home.origin) return
  throw unreadable(
    `${label} leads to ${url.origin}, away from ${home.origin}`,
    'only addresses of the same scheme, host and port are followed; write the other one as url if it is the right one',
  )
}

function redirectTarget(location: string | string[] | undefined, url: URL, label: string): URL {
  const target = typeof location === 'string' ? URL.parse(location, url) : null
  if (target) return target
  throw unreadable(`${label} redirects to nowhere`, 'check the server')
}
