import type { ConnectorContext } from '../../connector.ts'
import type { ResponseHeaders } from '../client/body.ts'
import { openHttpClient } from '../client/client.ts'
import type { CredentialHeaders, HttpRequest } from '../client/request.ts'
import type { ResolveHost } from '../network/addresses.ts'
import type { Clock } from '../network/clock.ts'
import type { HttpSource } from '../settings/settings.ts'

const maxAnswerBytes = 1024 * 1024
const maxLabelCharacters = 200

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
 * are not followed, because the request holds secrets.
 */
export async function exchangeToken(
  source: HttpSource,
  { headers, ...request }: TokenRequest,
  { signal, ...options }: TokenContext & { readonly signal: AbortSignal },
): Promise<TokenAnswer> {
  const { url } = request
  const label = `${url.origin}${url.pathname}`.slice(0, maxLabelCharacters)
  // Headers of the configuration may be secrets of the host of the list.
  const isSameHost = url.origin === new URL(source.url).origin
  const settings = {
    ...source,
    url: url.href,
    headers: isSameHost ? source.headers : {},
    maxBytes: maxAnswerBytes,
    firstByteTimeoutMs: undefined,
    requestsPerMinute: undefined,
  }
  const authorizer = { headers: async () => headers }
  await using client = await openHttpClient(settings, { ...options, signal, authorizer, sizeHelp: 'check the address' })
  return await client.read({ ...request, label, readsFailures: true }, async (response) => {
    const content = Buffer.concat(await Array.fromAsync(response.body))
    return { label, status: response.status, headers: response.headers, content }
  })
}
