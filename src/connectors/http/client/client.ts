import type { Agent } from 'undici'
import type { ConnectorContext } from '../../connector.ts'
import { unreadable } from '../../file/failures.ts'
import { fixedLookup, type ResolveHost, resolveCheckedAddresses } from '../network/addresses.ts'
import { statusFailure } from '../network/failures.ts'
import { openRequestLimits, type RequestLimits } from '../network/limits.ts'
import { type ByteBudget, decodedBody, type ResponseHeaders } from './body.ts'
import {
  type Authorizer,
  type ClientSettings,
  discardBody,
  type HttpRequest,
  sendPatiently,
  withLimits,
} from './request.ts'
import { tlsMaterial } from './tls.ts'

/** How many requests of one client run at the same time. The others wait. */
export const maxConnections = 4

const maxRedirects = 5
const maxHeaderBytes = 32 * 1024
const redirectStatuses = new Set([301, 302, 303, 307, 308])

const maxUnusedBytes = 16 * 1024

/**
 * A response with status 200 whose body is still to be read, or with another status that the request accepts and an empty body. `url` is
 * its address after all redirects.
 */
export type HttpResponse = {
  readonly status: number
  readonly url: URL
  readonly headers: ResponseHeaders
  readonly body: AsyncIterable<Buffer>
}

/** Fetches addresses of one host. Disposing closes its connections. */
export type HttpClient = AsyncDisposable & {
  /** Follows redirects on the same host. Throws a failure for every status but 200 and those that the request accepts. */
  readonly fetch: (request: HttpRequest) => Promise<HttpResponse>
  /** Whether the byte limit or the time limit of all responses is exceeded, so that no further request can succeed. */
  readonly isExhausted: () => boolean
}

/** What a client needs besides the settings of the source. */
type HttpClientOptions = {
  readonly context: ConnectorContext
  readonly resolve: ResolveHost
  readonly signal: AbortSignal
  readonly authorizer: Authorizer
}

/** A client that connects only to the checked addresses of the host in `url`. All its responses share one byte limit and one time limit. */
export async function openHttpClient(
  source: ClientSettings,
  { context, resolve, signal, authorizer }: HttpClientOptions,
): Promise<HttpClient> {
  const home = new URL(source.url)
  const agent = await openAgent(source, { context, resolve })
  const limits = openRequestLimits(source.totalTimeoutMs, signal)
  const budget: ByteBudget = { remainingBytes: source.maxBytes, maxBytes: source.maxBytes }
  return {
    fetch: (request) => followRedirects({ source, context, authorizer, agent, limits, home, budget }, request),
    isExhausted: () => limits.timeout.aborted || budget.remainingBytes < 0,
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}

async function openAgent(
  source: ClientSettings,
  { context, resolve }: Pick<HttpClientOptions, 'context' | 'resolve'>,
): Promise<Agent> {
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

type ClientState = {
  readonly source: ClientSettings
  readonly context: ConnectorContext
  readonly authorizer: Authorizer
  readonly agent: Agent
  readonly limits: RequestLimits
  readonly home: URL
  readonly budget: ByteBudget
}

async function followRedirects(state: ClientState, request: HttpRequest): Promise<HttpResponse> {
  const { home, budget, limits } = state
  const { label } = request
  let { url } = request
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    checkOrigin(url, home, label)
    const response = await sendPatiently(state, { ...request, url })
    const { statusCode: status, headers } = response
    if (status === 200) return { status, url, headers, body: decodedBody(response, { label, budget, limits }) }
    if (request.acceptedStatuses?.includes(status)) {
      // Reading a short body keeps the connection open for the next request.
      await withLimits(limits, label, () => response.body.dump({ limit: maxUnusedBytes, signal: limits.either }))
      return { status, url, headers, body: noBody() }
    }
    discardBody(response)
    if (!redirectStatuses.has(status)) throw statusFailure(status, label, null)
    url = redirectTarget(headers.location, url, label)
  }
  throw unreadable(`${label} redirects more than ${maxRedirects} times`, 'write the last address as url')
}

async function* noBody(): AsyncGenerator<Buffer> {}

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
