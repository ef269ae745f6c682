import { timingSafeEqual } from 'node:crypto'
import { jwtVerify } from 'jose'
import { type ClientKeys, createClientKeys } from './client-keys.ts'
import { formOf, headerOf, jsonOf, Refusal, type Reply, type SystemRequest } from './protocol.ts'
import { verifyAssertion } from './saml.ts'
import type { TokenStore } from './tokens.ts'

/** What the authentication of one running server needs. */
export type AuthenticationContext = { readonly now: () => number; readonly tokens: TokenStore; readonly origin: string }

/** An address that issues tokens. */
export type TokenEndpoint = {
  readonly path: string
  readonly answer: (request: SystemRequest) => Promise<Reply> | Reply
}

/** How a running server knows its clients. */
export type OpenAuthentication = {
  readonly endpoint?: TokenEndpoint
  /** Throws a refusal for a request without valid credentials. */
  readonly check: (request: SystemRequest) => void
  /** The keys of the client whose signatures the server trusts. */
  readonly keys?: ClientKeys
}

export type Authentication = (context: AuthenticationContext) => OpenAuthentication

/** A user name and a password; without a password, any is accepted. */
export function basic(username: string, password?: string): Authentication {
  return () => ({
    check(request) {
      const given = basicPair(headerOf(request, 'authorization'))
      const isUser = given !== null && isEqual(given.username, username)
      if (!isUser || (password !== undefined && !isEqual(given.password, password))) throw unauthorized('Basic')
    },
  })
}

/** A fixed text in a header. */
export function fixedHeader(name: string, value: string, status = 401): Authentication {
  return () => ({
    check(request) {
      if (!isEqual(headerOf(request, name), value)) throw new Refusal(status, { error: `${name} is missing or wrong` })
    },
  })
}

/** A fixed bearer token. */
export function bearer(token: string): Authentication {
  return fixedHeader('authorization', `Bearer ${token}`)
}

/** All of several. The endpoint and the keys are those of the first one that has them. */
export function allOf(...parts: readonly Authentication[]): Authentication {
  return (context) => {
    const opened = parts.map((part) => part(context))
    const endpoint = opened.find((one) => one.endpoint)?.endpoint
    const keys = opened.find((one) => one.keys)?.keys
    return {
      ...(endpoint && { endpoint }),
      ...(keys && { keys }),
      check(request) {
        for (const one of opened) one.check(request)
      },
    }
  }
}

/** Any of several. The endpoint and the keys are those of the first one that has them. */
export function anyOf(...parts: readonly Authentication[]): Authentication {
  return (context) => {
    const opened = parts.map((part) => part(context))
    return {
      ...allOf(...parts)(context),
      check(request) {
        const refusals = opened.flatMap((one) => refusalOf(() => one.check(request)))
        if (refusals.length === opened.length && refusals[0]) throw refusals[0]
      },
    }
  }
}

function refusalOf(check: () => void): readonly Refusal[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof Refusal) return [error]
    throw error
  }
}

/** A client certificate, for the token endpoint too. */
export function withCertificate(inner: Authentication): Authentication {
  return (context) => {
    const { endpoint, check, ...rest } = inner(context)
    const requireCertificate = ({ isCertified }: SystemRequest) => {
      if (!isCertified) throw new Refusal(401, { error: 'Proper client ssl certificate was not presented.' })
    }
    return {
      ...rest,
      ...(endpoint && {
        endpoint: {
          ...endpoint,
          answer(request: SystemRequest) {
            requireCertificate(request)
            return endpoint.answer(request)
          },
        },
      }),
      check(request) {
        requireCertificate(request)
        check(request)
      },
    }
  }
}

type TokenSettings = { readonly path: string; readonly lifetimeSeconds: number }
type Client = { readonly clientId: string; readonly clientSecret: string }

/** OAuth 2.0 client credentials, in the header or in the body. */
export function clientCredentials({ path, lifetimeSeconds, ...client }: TokenSettings & Client): Authentication {
  return (context) => ({
    endpoint: {
      path,
      answer(request) {
        const form = formOf(request)
        requireGrant(form, 'client_credentials')
        requireClient(request, form, client)
        return tokenReply(context.tokens.issue(lifetimeSeconds), lifetimeSeconds)
      },
    },
    check: (request) => checkIssued(request, context.tokens),
  })
}

/** OAuth 2.0 with refresh tokens, each of which is accepted once: the answer brings the next one. */
export function rotatingRefreshToken({
  path,
  lifetimeSeconds,
  firstRefreshToken,
  ...client
}: TokenSettings & Client & { readonly firstRefreshToken: string }): Authentication {
  return (context) => {
    let accepted = firstRefreshToken
    let issued = 0
    return {
      endpoint: {
        path,
        answer(request) {
          const form = formOf(request)
          requireGrant(form, 'refresh_token')
          requireClient(request, form, client)
          if (!isEqual(form.get('refresh_token') ?? '', accepted))
            throw new Refusal(400, {
              error: 'invalid_grant',
              error_description: 'the refresh token was used or revoked',
            })
          issued += 1
          accepted = `${firstRefreshToken}-${issued}`
          const token = context.tokens.issue(lifetimeSeconds)
          return tokenReply(token, lifetimeSeconds, { refresh_token: accepted })
        },
      },
      check: (request) => checkIssued(request, context.tokens),
    }
  }
}

type AssertionSettings = TokenSettings & {
  readonly issuer: string
  readonly subject: string
  readonly audience: string
  /** Further claims that the assertion must have. */
  readonly claims?: Readonly<Record<string, string>>
}

/** OAuth 2.0 with a signed JSON Web Token (RFC 7523). The signature, issuer, subject, audience and times are checked. */
export function jwtBearer(settings: AssertionSettings): Authentication {
  return assertionGrant(settings, {
    grant: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    problemOf: ({ form, keys, context }) =>
      jwtProblem(form.get('assertion') ?? '', { ...settings, keys, now: context.now() }),
  })
}

/** OAuth 2.0 client credentials with a signed JSON Web Token in the place of the secret (private_key_jwt), as Okta's own server wants it. */
export function clientAssertion({
  scope,
  ...settings
}: AssertionSettings & { readonly scope: string }): Authentication {
  const opened = assertionGrant(settings, {
    grant: 'client_credentials',
    async problemOf({ form, keys, context }) {
      if (form.get('scope') !== scope) return 'the scope is not granted'
      if (form.has('client_secret')) return 'a secret is not accepted'
      if (form.get('client_assertion_type') !== 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
        return 'the type of the assertion is missing'
      return await jwtProblem(form.get('client_assertion') ?? '', { ...settings, keys, now: context.now() })
    },
  })
  return opened
}

/** OAuth 2.0 with a signed SAML assertion (RFC 7522). `parameters` stand in the form too. */
export function samlBearer({
  parameters,
  ...settings
}: AssertionSettings & { readonly parameters: Readonly<Record<string, string>> }): Authentication {
  return assertionGrant(settings, {
    grant: 'urn:ietf:params:oauth:grant-type:saml2-bearer',
    async problemOf({ form, keys, context }) {
      for (const [name, value] of Object.entries(parameters))
        if (form.get(name) !== value) throw new Refusal(401, { error: 'invalid_client', error_description: name })
      return await verifyAssertion(form.get('assertion') ?? '', {
        ...settings,
        clientId: parameters.client_id ?? '',
        recipient: `${context.origin}${settings.path}`,
        publicKey: keys.publicKey,
        now: context.now(),
      })
    },
  })
}

type AssertionRequest = {
  readonly form: URLSearchParams
  readonly keys: ClientKeys
  readonly context: AuthenticationContext
}

/** A grant that is an assertion. `problemOf`: why it is not accepted; null: it is. */
type AssertionRule = {
  readonly grant: string
  readonly problemOf: (request: AssertionRequest) => Promise<string | null>
}

/** A token endpoint for signed assertions. Each server trusts a key of its own. */
function assertionGrant({ path, lifetimeSeconds }: TokenSettings, { grant, problemOf }: AssertionRule): Authentication {
  return (context) => {
    const keys = createClientKeys()
    return {
      keys,
      endpoint: {
        path,
        async answer(request) {
          const form = formOf(request)
          requireGrant(form, grant)
          const problem = await problemOf({ form, keys, context })
          if (problem !== null) throw new Refusal(401, { error: 'invalid_grant', error_description: problem })
          return tokenReply(context.tokens.issue(lifetimeSeconds), lifetimeSeconds)
        },
      },
      check: (request) => checkIssued(request, context.tokens),
    }
  }
}

/** A request with credentials as JSON, which answers with a token as `write` shapes it. */
export function login({
  path,
  lifetimeSeconds,
  credentials,
  write,
}: TokenSettings & {
  readonly credentials: Readonly<Record<string, string>>
  readonly write: (token: string) => unknown
}): Authentication {
  return (context) => ({
    endpoint: {
      path,
      answer(request) {
        const given = jsonOf(request)
        const isKnown = Object.entries(credentials).every(
          ([name, value]) => typeof given === 'object' && given !== null && Reflect.get(given, name) === value,
        )
        if (request.method !== 'POST' || !isKnown)
          throw new Refusal(403, { success: false, error: 'wrong credentials' })
        return { status: 200, body: write(context.tokens.issue(lifetimeSeconds)) }
      },
    },
    check: (request) => checkIssued(request, context.tokens),
  })
}

function checkIssued(request: SystemRequest, tokens: TokenStore): void {
  const [, token = ''] = /^Bearer (\S+)$/.exec(headerOf(request, 'authorization')) ?? []
  if (!tokens.isValid(token)) throw unauthorized('Bearer error="invalid_token"')
}

function unauthorized(challenge: string): Refusal {
  return new Refusal(401, { error: 'unauthorized' }, { 'www-authenticate': challenge })
}

function requireGrant(form: URLSearchParams, grant: string): void {
  if (form.get('grant_type') !== grant) throw new Refusal(400, { error: 'unsupported_grant_type' })
}

function requireClient(request: SystemRequest, form: URLSearchParams, { clientId, clientSecret }: Client): void {
  const pair = basicPair(headerOf(request, 'authorization'))
  // RFC 6749 encodes both parts of the header as form fields.
  const given = pair
    ? { id: decodeURIComponent(pair.username), secret: decodeURIComponent(pair.password) }
    : { id: form.get('client_id') ?? '', secret: form.get('client_secret') ?? '' }
  if (isEqual(given.id, clientId) && isEqual(given.secret, clientSecret)) return
  throw new Refusal(401, { error: 'invalid_client' })
}

type ExpectedJwt = Omit<AssertionSettings, 'path' | 'lifetimeSeconds'> & {
  readonly keys: ClientKeys
  readonly now: number
}

/** Why a JSON Web Token is not accepted; null if it is. */
async function jwtProblem(
  assertion: string,
  { keys, issuer, subject, audience, claims = {}, now }: ExpectedJwt,
): Promise<string | null> {
  try {
    const options = { issuer, subject, audience, currentDate: new Date(now), requiredClaims: ['exp', 'iat'] }
    const { payload } = await jwtVerify(assertion, keys.publicKey, options)
    const [wrong] = Object.entries(claims).filter(([name, value]) => payload[name] !== value)
    return wrong === undefined ? null : `the claim ${wrong[0]} is missing or wrong`
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown'
  }
}

function tokenReply(token: string, lifetimeSeconds: number, more: Readonly<Record<string, string>> = {}): Reply {
  const headers = { 'cache-control': 'no-store' }
  return {
    status: 200,
    headers,
    body: { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds, ...more },
  }
}

function basicPair(header: string): { readonly username: string; readonly password: string } | null {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]+)$/.exec(header) ?? []
  if (encoded === undefined) return null
  const [username = '', ...rest] = Buffer.from(encoded, 'base64').toString().split(':')
  return { username, password: rest.join(':') }
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
