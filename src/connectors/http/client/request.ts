import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent, Dispatcher } from 'undici'
import type { ConnectorContext } from '../../connector.ts'
import { statusFailure, toRequestFailure } from '../network/failures.ts'
import type { RequestLimits } from '../network/limits.ts'
import type { HttpSource } from '../settings/settings.ts'
import { readHeaderSecret } from './secrets.ts'

const maxAttempts = 4
const maxWaitMs = 60_000

/** One address to fetch. `label` names it in failures. */
export type HttpRequest = {
  readonly url: URL
  readonly label: string
  /** The media types that are expected. */
  readonly accept: string
  readonly method?: 'GET' | 'POST'
  /** What a POST sends, and its media type. */
  readonly body?: { readonly type: string; readonly text: string }
  /** Statuses besides 200 that are no failure. Their bodies are not read. */
  readonly acceptedStatuses?: readonly number[]
}

/** The settings of a source that its requests use. */
export type ClientSettings = Pick<
  HttpSource,
  | 'url'
  | 'headers'
  | 'ca'
  | 'clientCertificate'
  | 'insecure'
  | 'allowPrivate'
  | 'maxBytes'
  | 'connectTimeoutMs'
  | 'idleTimeoutMs'
  | 'firstByteTimeoutMs'
  | 'totalTimeoutMs'
  | 'requestsPerMinute'
>

/** The credentials of a source. */
export type Authorizer = {
  /** The headers that carry them. Called before every request. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>
}

/** What every request of a client uses. */
type Sender = {
  readonly source: ClientSettings
  readonly context: ConnectorContext
  readonly authorizer: Authorizer
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

function send(sender: Sender, request: HttpRequest) {
  const { agent, limits } = sender
  const { url, label, method = 'GET', body } = request
  return withLimits(limits, label, async () => {
    const headers = await requestHeaders(sender, request)
    const path = url.pathname + url.search
    const { origin } = url
    return agent.request({ origin, path, method, headers, body: body?.text, signal: limits.either })
  })
}

async function requestHeaders(
  { source, context, authorizer }: Sender,
  { accept, body }: HttpRequest,
): Promise<Record<string, string>> {
  return {
    'user-agent': 'rollcall',
    accept,
    ...(await configuredHeaders(source, context)),
    'accept-encoding': 'identity',
    ...(body && { 'content-type': body.type }),
    ...(await authorizer.headers()),
  }
}

/** The headers of the configuration, with names in lower case. */
async function configuredHeaders(
  { headers }: ClientSettings,
  context: ConnectorContext,
): Promise<Record<string, string>> {
  const pairs = Object.entries(headers).map(async ([name, value]): Promise<[string, string]> => {
    const path = `headers.${name}`
    return [name.toLowerCase(), context.secret(path) === null ? value : await readHeaderSecret(context, path)]
  })
  return Object.fromEntries(await Promise.all(pairs))
}

/** Runs a step that uses the network. If it fails, the failure names the limit or the server. */
export async function withLimits<T>(limits: RequestLimits, label: string, step: () => Promise<T>): Promise<T> {
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
