import type { Agent, Dispatcher } from 'undici'
import type { ConnectorContext } from '../../connector.ts'
import type { HttpSource } from '../settings/settings.ts'
import { readHeaderSecret } from './secrets.ts'

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
  /** Whether every response is returned with its body, also one that is a failure or a redirect. */
  readonly readsFailures?: boolean
  /** Whether sending it twice is harmless, as for everything that only reads (default). */
  readonly isRepeatable?: boolean
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

/** Headers that carry credentials. */
export type CredentialHeaders = Readonly<Record<string, string>>

/** The credentials of a source. */
export type Authorizer = {
  /** The headers that carry them. Called before every request. */
  readonly headers: (signal: AbortSignal) => Promise<CredentialHeaders>
  /**
   * Replaces credentials that a server refused with status 401. `refused`: what `headers` returned for that request. Does nothing if
   * they were replaced meanwhile. Undefined: there are no others.
   */
  readonly renew?: (refused: CredentialHeaders, signal: AbortSignal) => Promise<void>
}

/** What a request is sent with. */
export type Connection = {
  readonly source: ClientSettings
  readonly context: ConnectorContext
  readonly agent: Agent
  readonly signal: AbortSignal
}

/** Sends a request once. */
export async function sendOnce(
  { source, context, agent, signal }: Connection,
  { url, method = 'GET', accept, body }: HttpRequest,
  credentials: CredentialHeaders,
): Promise<Dispatcher.ResponseData> {
  const headers = {
    'user-agent': 'rollcall',
    accept,
    ...(await configuredHeaders(source, context)),
    'accept-encoding': 'identity',
    ...(body && { 'content-type': body.type }),
    ...credentials,
  }
  const path = url.pathname + url.search
  return agent.request({ origin: url.origin, path, method, headers, body: body?.text, signal })
}

/** Closes the connection of a response whose body is not used. The body may never end. */
export function discardBody({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy()
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
