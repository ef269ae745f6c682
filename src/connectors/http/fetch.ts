import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent, Dispatcher } from 'undici'
import type { ConnectorContext } from '../connector.ts'
import { unreadable } from '../file/failures.ts'
import { resolveCheckedAddresses, fixedLookup, type ResolveHost } from './addresses.ts'
import { type Budget, decodedBody } from './body.ts'
import { credentialHeaders, tlsMaterial } from './credentials.ts'
import { explained, refusedStatus, type Stop } from './failures.ts'
import type { HttpSource } from './settings.ts'

const redirectLimit = 5
const attemptLimit = 4
const longestWaitMs = 60_000
const headerBytes = 32 * 1024
const redirects = new Set([301, 302, 303, 307, 308])

/** An answer with status 200, whose body is still to be read. `url` is its address after all redirects. */
export type HttpAnswer = { readonly url: URL; readonly headers: AnswerHeaders; readonly body: AsyncIterable<Buffer> }

export type AnswerHeaders = Dispatcher.ResponseData['headers']

export type HttpClient = AsyncDisposable & {
  /** Fetches an address on the host of the source. Refusals call it `where`. */
  readonly get: (url: URL, options: { readonly where: string }) => Promise<HttpAnswer>
}

type Surroundings = {
  readonly place: ConnectorContext
  readonly resolve: ResolveHost
  readonly signal: AbortSignal
}

/** A client that connects only to the checked addresses of one host. All that it fetches shares one byte limit and one time limit. */
export async function openHttpClient(source: HttpSource, surroundings: Surroundings): Promise<HttpClient> {
  const { place, resolve, signal } = surroundings
  const home = new URL(source.url)
  const addresses = await resolveCheckedAddresses(home, { ...source, resolve })
  const undici = await import('undici')
  const agent = new undici.Agent({
    allowH2: false,
    connections: 1,
    maxHeaderSize: headerBytes,
    headersTimeout: source.idleTimeoutMs,
    bodyTimeout: source.idleTimeoutMs,
    connect: {
      ...(await tlsMaterial(source, place)),
      // Whatever the environment or the command line of Node say.
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      timeout: source.connectTimeoutMs,
      lookup: fixedLookup(addresses),
    },
  })
  const timeout = AbortSignal.timeout(source.totalTimeoutMs)
  const trip: Trip = {
    source,
    place,
    agent,
    home,
    stop: {
      caller: signal,
      timeout,
      either: AbortSignal.any([signal, timeout]),
      totalTimeoutMs: source.totalTimeoutMs,
    },
    budget: { leftBytes: source.maxBytes, maxBytes: source.maxBytes },
  }
  return {
    get: (url, { where }) => fetched(trip, { url, where }),
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}

type Trip = {
  readonly source: HttpSource
  readonly place: ConnectorContext
  readonly agent: Agent
  readonly home: URL
  readonly stop: Stop
  readonly budget: Budget
}

type Wish = { readonly url: URL; readonly where: string }

async function fetched(trip: Trip, wish: Wish): Promise<HttpAnswer> {
  let url = wish.url
  for (let hops = 0; hops <= redirectLimit; hops += 1) {
    checkHost(url, trip.home, wish.where)
    const response = await patiently(trip, { ...wish, url })
    const { statusCode: status, headers } = response
    if (status === 200) {
      const body = decodedBody(response, { where: wish.where, budget: trip.budget, stop: trip.stop })
      return { url, headers, body }
    }
    giveUp(response)
    if (!redirects.has(status)) throw refusedStatus(status, wish.where, null)
    url = targetOf(headers.location, url, wish.where)
  }
  throw unreadable(`${wish.where} redirects more than ${redirectLimit} times`, 'write the last address as url')
}

/** Asks again after the wait that the server asks for. A wait of more than a minute is left to the next run. */
async function patiently(trip: Trip, wish: Wish): Promise<Dispatcher.ResponseData> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await requested(trip, wish)
    const { statusCode: status, headers } = response
    if (status !== 429 && status !== 503) return response
    giveUp(response)
    const waitMs = retryAfterMs(headers['retry-after'])
    if (waitMs === null || waitMs > longestWaitMs || attempt === attemptLimit)
      throw refusedStatus(status, wish.where, waitMs)
    await stoppable(trip.stop, wish.where, () => sleep(waitMs, undefined, { signal: trip.stop.either }))
  }
}

function requested({ agent, source, place, stop }: Trip, { url, where }: Wish): Promise<Dispatcher.ResponseData> {
  return stoppable(stop, where, async () => {
    const headers = {
      'user-agent': 'rollcall',
      accept: source.format === 'json' ? 'application/json' : 'text/csv, */*;q=0.5',
      ...lowerCased(source.headers),
      'accept-encoding': 'identity',
      ...(await credentialHeaders(source, place)),
    }
    const path = url.pathname + url.search
    return agent.request({ origin: url.origin, path, method: 'GET', headers, signal: stop.either })
  })
}

// The body of a refusal is of no use and may never end, so the connection is closed with it.
function giveUp({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy()
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Runs a step that uses the network. Its failure says what ended it. */
async function stoppable<T>(stop: Stop, where: string, step: () => Promise<T>): Promise<T> {
  try {
    stop.either.throwIfAborted()
    return await step()
  } catch (error) {
    throw explained(error, { where, stop })
  }
}

// The credentials are sent to the host of url only, and only its answers are trusted.
function checkHost(url: URL, home: URL, where: string): void {
  if (url.origin === home.origin) return
  throw unreadable(
    `${where} leads to ${url.origin}, away from ${home.origin}`,
    'only addresses of the same scheme, host and port are followed; write the other one as url if it is the right one',
  )
}

function targetOf(location: string | string[] | undefined, url: URL, where: string): URL {
  const target = typeof location === 'string' ? URL.parse(location, url) : null
  if (target) return target
  throw unreadable(`${where} redirects to nowhere`, 'check the server')
}

function retryAfterMs(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string') return null
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000
  const until = Date.parse(value)
  return Number.isNaN(until) ? null : Math.max(0, until - Date.now())
}
