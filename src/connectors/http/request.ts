import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent, Dispatcher } from 'undici'
import type { ConnectorContext } from '../connector.ts'
import { credentialHeaders } from './credentials.ts'
import { statusFailure, toRequestFailure } from './failures.ts'
import type { RequestLimits } from './limits.ts'
import type { HttpSource } from './settings.ts'

const maxAttempts = 4
const maxWaitMs = 60_000

/** One address to fetch. `label` names it in failures. */
export type HttpRequest = { readonly url: URL; readonly label: string }

/** What every request of a client uses. */
type Sender = {
  readonly source: HttpSource
  readonly context: ConnectorContext
  readonly agent: Agent
  readonly limits: RequestLimits
}

/**
 * Sends a request, and repeats it after the wait that a status 429 or 503 asks for. Throws if the server names no wait, or one of more
 * than a minute: the next run tries again.
 */
export async function sendPatiently(sender: Sender, request: HttpRequest): Promise<Dispatcher.ResponseData> {
  const { limits } = sender
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(sender, request)
    const { statusCode: status, headers } = response
    if (status !== 429 && status !== 503) return response
    discardBody(response)
    const waitMs = retryAfterMs(headers['retry-after'])
    if (waitMs === null || waitMs > maxWaitMs || attempt === maxAttempts)
      throw statusFailure(status, request.label, waitMs)
    await withLimits(limits, request.label, () => sleep(waitMs, undefined, { signal: limits.either }))
  }
}

/** Closes the connection of a response whose body is not used. The body may never end. */
export function discardBody({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy()
}

function send({ agent, source, context, limits }: Sender, { url, label }: HttpRequest) {
  return withLimits(limits, label, async () => {
    const headers = await requestHeaders(source, context)
    const path = url.pathname + url.search
    return agent.request({ origin: url.origin, path, method: 'GET', headers, signal: limits.either })
  })
}

async function requestHeaders(source: HttpSource, context: ConnectorContext): Promise<Record<string, string>> {
  return {
    'user-agent': 'rollcall',
    accept: source.format === 'json' ? 'application/json' : 'text/csv, */*;q=0.5',
    ...lowerCased(source.headers),
    'accept-encoding': 'identity',
    ...(await credentialHeaders(source, context)),
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Runs a step that uses the network. If it fails, the failure names the limit or the server. */
async function withLimits<T>(limits: RequestLimits, label: string, step: () => Promise<T>): Promise<T> {
  try {
    limits.either.throwIfAborted()
    return await step()
  } catch (error) {
    throw toRequestFailure(error, { label, limits })
  }
}

function retryAfterMs(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string') return null
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000
  const until = Date.parse(value)
  return Number.isNaN(until) ? null : Math.max(0, until - Date.now())
}
