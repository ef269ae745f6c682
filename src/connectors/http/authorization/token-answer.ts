import type { Failure } from '../../../errors.ts'
import { unreachable, unreadable } from '../../file/failures.ts'
import { type JsonValue, pointer, readJson } from '../../json/cells.ts'
import { checkContentType } from '../client/body.ts'
import { statusFailure } from '../network/failures.ts'
import type { OAuth2 } from '../settings/authorization.ts'
import { requireHeaderText } from './header-text.ts'
import type { TokenAnswer } from './token-client.ts'

/** The tokens that a token endpoint issued. */
export type IssuedTokens = {
  readonly accessToken: string
  /** null: the answer does not say how long it is valid. */
  readonly lifetimeSeconds: number | null
  /** null: the refresh token stays the same, or there is none. */
  readonly refreshToken: string | null
}

type AnswerContext = { readonly oauth2: OAuth2; readonly now: Date }

const maxClockDifferenceMs = 60_000

/** What the error codes of OAuth 2.0 mean for an operator (RFC 6749 and RFC 8707). Other texts of a server are never shown. */
const errorCodes = new Map<string, readonly [string, string]>(
  Object.entries({
    invalid_request: [
      'does not understand the token request',
      'check grant, scope and parameters, and whether clientSecretIn is right',
    ],
    invalid_client: [
      'does not accept the client',
      'check clientId and clientSecret, whether they have expired, and whether clientSecretIn is right',
    ],
    unauthorized_client: ['does not allow this grant to the client', 'allow it in the HR system, or use another grant'],
    unsupported_grant_type: ['does not know this grant', 'check grant and tokenUrl'],
    invalid_scope: ['does not grant the scope', 'check scope, and what the HR system allows to the client'],
    invalid_target: ['does not know for what the token is', 'check audience and resource in parameters'],
    access_denied: ['refuses a token', 'check what the HR system allows to the client'],
  }),
)

const temporaryErrors = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

const refusedGrants: Readonly<Record<OAuth2['grant'], readonly [string, string]>> = {
  clientCredentials: ['does not accept the credentials', 'check clientId, clientSecret and parameters'],
  refreshToken: [
    'does not accept the refresh token',
    'it was used elsewhere or revoked, or has expired; let the HR system issue a new one, and write it where oauth2.refreshToken points',
  ],
  jwtBearer: ['does not accept the assertion', 'check issuer, subject, audience, and that it knows the key'],
  samlBearer: ['does not accept the assertion', 'check issuer, subject, audience, and that it knows the certificate'],
}

/** Where an assertion stands in for the secret of the client. */
const refusedKey = [
  'does not accept the client',
  'check clientId and audience, and that it knows the public key; if it knows several keys, check keyId',
] as const

/** The tokens in the answer of a token endpoint. Throws if there are none, with what the server says in codes of the standard. */
export function readTokenAnswer(answer: TokenAnswer, answerContext: AnswerContext): IssuedTokens {
  const { status, label } = answer
  if (status >= 300 && status < 400)
    throw unreadable(
      `${label} redirects (status ${status})`,
      'write the address that it redirects to as oauth2.tokenUrl',
    )
  const content = jsonOf(answer)
  const error = content === null ? undefined : pointer(content, '/error')
  if (typeof error === 'string') throw errorFailure(error, answer, answerContext)
  if (status === 401 || status === 403) throw clientRefused(status, label)
  if (status !== 200 && status !== 201) throw statusFailure(status, label, null)
  if (content === null) throw unreadable(`${label} answers with nothing`, 'check oauth2.tokenUrl')
  return tokensIn(content, label)
}

/**
 * The refresh token of a successful answer, whatever else of it is wrong: the server may already refuse the one before. null: there is
 * none.
 */
export function issuedRefreshToken({ status, content, label }: TokenAnswer): string | null {
  if (status < 200 || status >= 300) return null
  try {
    return refreshTokenIn(readJson(content, { name: label }))
  } catch {
    // What is wrong with it is said by whoever reads all of the answer.
    return null
  }
}

function refreshTokenIn(content: JsonValue): string | null {
  const token = pointer(content, '/refresh_token')
  return typeof token === 'string' && token !== '' ? token : null
}

function clientRefused(status: number, label: string): Failure {
  return unreadable(
    `${label} does not accept the client (status ${status})`,
    'check clientId and clientSecret, and clientCertificate if the system wants one',
  )
}

/** The content as JSON; null if a failure has none, so that its status says more. */
function jsonOf({ status, headers, content, label }: TokenAnswer): JsonValue | null {
  const isSuccess = status < 300
  try {
    if (content.length === 0) return null
    checkContentType(headers, 'json', label)
    return readJson(content, { name: label })
  } catch (error) {
    if (isSuccess) throw error
    return null
  }
}

function errorFailure(code: string, { status, label, headers }: TokenAnswer, { oauth2, now }: AnswerContext): Failure {
  if (temporaryErrors.has(code)) return unreachable(`${label} is in trouble (${code})`, 'try again later')
  const meaning = meaningOf(code, oauth2)
  if (!meaning)
    return status === 401 || status === 403
      ? clientRefused(status, label)
      : statusFailure(status === 200 ? 400 : status, label, null)
  const [problem, help] = meaning
  return unreadable(`${label} ${problem} (${code})`, `${help}${clockHint(headers.date, { oauth2, now })}`)
}

function meaningOf(code: string, oauth2: OAuth2): readonly [string, string] | undefined {
  const isAboutClient = code === 'invalid_client' || code === 'invalid_grant'
  if (isAboutClient && oauth2.grant === 'jwtBearer' && oauth2.proves === 'client') return refusedKey
  return code === 'invalid_grant' ? refusedGrants[oauth2.grant] : errorCodes.get(code)
}

/** Assertions state times, which a server compares with its own clock. */
function clockHint(date: string | string[] | undefined, { oauth2, now }: AnswerContext): string {
  if (oauth2.grant !== 'jwtBearer' && oauth2.grant !== 'samlBearer') return ''
  const differenceMs = now.getTime() - Date.parse(String(date))
  if (Number.isNaN(differenceMs) || Math.abs(differenceMs) <= maxClockDifferenceMs) return ''
  const [seconds, direction] = [Math.round(Math.abs(differenceMs) / 1000), differenceMs > 0 ? 'fast' : 'slow']
  return `. The clock of this machine is ${seconds} s ${direction}, compared with that server: set it`
}

function tokensIn(content: JsonValue, label: string): IssuedTokens {
  const accessToken = pointer(content, '/access_token')
  if (typeof accessToken !== 'string' || accessToken === '')
    throw unreadable(`${label} answers without an access_token`, 'check oauth2.tokenUrl, or use login')
  const type = pointer(content, '/token_type')
  if (type !== undefined && type !== null && !/^bearer$/i.test(String(type)))
    throw unreadable(
      `${label} issues a token whose token_type is not Bearer`,
      'let the HR system issue bearer tokens to this client, or use login',
    )
  const lifetime = Number(pointer(content, '/expires_in') ?? Number.NaN)
  return {
    accessToken: requireHeaderText(accessToken, label),
    lifetimeSeconds: Number.isFinite(lifetime) && lifetime > 0 ? lifetime : null,
    refreshToken: refreshTokenIn(content),
  }
}
