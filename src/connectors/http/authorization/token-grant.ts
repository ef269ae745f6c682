import type { ClientAuth, Configuration, CustomFetchOptions } from 'openid-client'
import type { Failure } from '../../../errors.ts'
import { unreadable } from '../../file/failures.ts'
import { addressLabel } from '../client/address-label.ts'
import { withSecrets } from '../client/secrets.ts'
import type { OAuth2 } from '../settings/authorization.ts'
import type { HttpSource } from '../settings/settings.ts'
import { type IssuedTokens, issuedRefreshToken, readTokenAnswer } from './token-answer.ts'
import { exchangeToken, type TokenContext, type TokenRequest } from './token-client.ts'

type OidcModule = typeof import('openid-client')

/** Sends the request of a grant. */
export type SendGrant = (
  oidc: OidcModule,
  configuration: Configuration,
  parameters: Readonly<Record<string, string>>,
) => Promise<unknown>

type GrantRequest = {
  readonly oauth2: OAuth2
  /** Whether the request may be sent again when the answer does not arrive. */
  readonly isRepeatable: boolean
  readonly send: SendGrant
  /**
   * Keeps a new refresh token, before anything else of the answer is checked. With it the answer of a request that was sent is awaited
   * even after the signal aborted.
   */
  readonly keepRefreshToken?: (token: string) => Promise<void>
}

/** Exchanges what a grant holds for tokens. The library makes the request and checks the answer; our client sends it. */
export async function requestGrant(
  source: HttpSource,
  { oauth2, isRepeatable, send, keepRefreshToken }: GrantRequest,
  options: TokenContext & { readonly signal: AbortSignal },
): Promise<IssuedTokens> {
  const oidc = await import('openid-client')
  const { clock } = options
  const url = new URL(oauth2.tokenUrl)
  const label = addressLabel(options.context, { at: 'oauth2.tokenUrl', url })
  const clientId = await readClientId(oauth2, options)
  const server = { issuer: url.origin, token_endpoint: url.href }
  const configuration = new oidc.Configuration(server, clientId, undefined, await clientAuth(oidc, oauth2, options))
  // The settings refuse http:// unless insecure, or allowPrivate on this machine, allows it.
  if (url.protocol === 'http:') oidc.allowInsecureRequests(configuration)
  let issued: IssuedTokens | undefined
  let problem: unknown
  configuration[oidc.customFetch] = async (_address, request) => {
    try {
      const mustBeAnswered = keepRefreshToken !== undefined
      const answer = await exchangeToken(
        source,
        { ...tokenRequest(url, request), isRepeatable, mustBeAnswered },
        options,
      )
      const refreshToken = issuedRefreshToken(answer)
      if (refreshToken !== null) await keepRefreshToken?.(refreshToken)
      issued = readTokenAnswer(answer, { oauth2, now: clock.now() })
      return toResponse(issued)
    } catch (error) {
      problem = error
      throw error
    }
  }
  try {
    await send(oidc, configuration, await readParameters(oauth2, options))
  } catch {
    // The library's own error may quote what the server sent.
    throw problem ?? unusableAnswer(label)
  }
  if (issued === undefined) throw unusableAnswer(label)
  return issued
}

async function readParameters(oauth2: OAuth2, { context }: TokenContext): Promise<Record<string, string>> {
  const parameters = await withSecrets(context, 'oauth2.parameters', oauth2.parameters)
  const texts = Object.entries(parameters as typeof oauth2.parameters)
  return Object.fromEntries(oauth2.scope === undefined ? texts : [...texts, ['scope', oauth2.scope]])
}

/** The ID of the client, which may be a secret. */
export async function readClientId({ clientId }: OAuth2, { context }: TokenContext): Promise<string> {
  return (await context.secret('oauth2.clientId')?.read()) ?? clientId
}

async function clientAuth(oidc: OidcModule, oauth2: OAuth2, { context }: TokenContext): Promise<ClientAuth> {
  const secret = await context.secret('oauth2.clientSecret')?.read()
  if (secret === undefined) return oidc.None()
  return oauth2.clientSecretIn === 'body' ? oidc.ClientSecretPost(secret) : clientSecretBasic(secret)
}

/**
 * The Authorization header of RFC 6749, section 2.3.1. The library's own also encodes `-`, `_` and `.`, which the standard allows, but
 * which servers that do not decode the header refuse. IDs are full of them.
 */
function clientSecretBasic(secret: string): ClientAuth {
  const encoded = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)
  return (_server, client, _body, headers) => {
    const pair = `${encoded(client.client_id)}:${encoded(secret)}`
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
  }
}

function tokenRequest(url: URL, { headers, body }: CustomFetchOptions): TokenRequest {
  const { 'content-type': type = '', accept = '', authorization } = headers
  return {
    url,
    at: 'oauth2.tokenUrl',
    method: 'POST',
    accept,
    body: { type, text: String(body) },
    headers: authorization === undefined ? {} : { authorization },
  }
}

/** The checked answer in the form that the library expects: some systems send numbers as texts, or leave out the token's type. */
function toResponse({ accessToken, lifetimeSeconds, refreshToken }: IssuedTokens): Response {
  return Response.json({
    access_token: accessToken,
    token_type: 'bearer',
    ...(lifetimeSeconds !== null && { expires_in: lifetimeSeconds }),
    ...(refreshToken !== null && { refresh_token: refreshToken }),
  })
}

function unusableAnswer(label: string): Failure {
  return unreadable(`${label} gave an answer that cannot be used`, 'check oauth2.tokenUrl and grant')
}
