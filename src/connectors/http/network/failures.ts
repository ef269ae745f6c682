import { errorCode, Failure } from '../../../errors.ts'
import { unreachable, unreadable } from '../../file/failures.ts'
import type { RequestLimits } from './limits.ts'

const later = 'try again later'
const checkAddress = 'check the address'
const checkServer = 'check the server'
const checkNetwork = 'check the network'

/** What a status means for an operator. The text of the response may hold anything and is never shown. */
const meanings: Readonly<Record<number, readonly [string, string]>> = {
  204: ['has nothing to give', checkAddress],
  206: ['gave a part although all was asked for', checkServer],
  400: ['does not understand the request', 'check the address and its parameters'],
  401: ['does not accept the credentials', 'check them, and whether they have expired'],
  403: ['does not let these credentials read', 'let the account read this list'],
  404: ['knows nothing under this address', checkAddress],
  407: ['wants credentials for a proxy', 'connect without one'],
  410: ['has withdrawn this address', checkAddress],
}

const temporaryStatuses = new Set([408, 425, 429])

/** The failure for a status other than 200. It is retried if the cause may go away by itself. */
export function statusFailure(status: number, label: string, retryAfterMs: number | null): Failure {
  if (temporaryStatuses.has(status) || status >= 500) {
    const wait = retryAfterMs === null ? later : `it asks to wait ${toSeconds(retryAfterMs)} s`
    return unreachable(temporaryProblem(status, label), wait)
  }
  const [problem, help] = meanings[status] ?? ['gave an unexpected answer', checkAddress]
  return unreadable(`${label} ${problem} (status ${status})`, help)
}

/** The failure for a token that lacks the scope for this list. */
export function insufficientScope(label: string): Failure {
  return unreadable(
    `${label} wants a scope that the token lacks (status 403, insufficient_scope)`,
    'name the scope of this list in scope, and allow it to the client in the HR system',
  )
}

type LongWait = {
  /** null: the server broke the connection. */
  readonly status: number | null
  readonly label: string
  readonly waitMs: number
  readonly remainingMs: number
}

/** The failure for a wait that is longer than the rest of the reading may take. */
export function tooLongWait({ status, label, waitMs, remainingMs }: LongWait): Failure {
  const problem = status === null ? `${label} ended the connection too soon` : temporaryProblem(status, label)
  const left = `totalTimeoutMs leaves ${Math.floor(remainingMs / 1000)} s`
  return unreachable(problem, `it asks to wait ${toSeconds(waitMs)} s, and ${left}; ${later}, or raise totalTimeoutMs`)
}

function temporaryProblem(status: number, label: string): string {
  return `${label} ${status === 429 ? 'has had too many requests' : 'is in trouble'} (status ${status})`
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

const tlsCode =
  /^(?:CERT_|CRL_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/

/** What the usual reasons mean for which a server is not trusted. */
const untrusted: Readonly<Record<string, readonly [string, string]>> = {
  CERT_HAS_EXPIRED: [
    'shows a certificate that has expired',
    'let its administrator renew it; if a browser trusts it, check the clock of this machine and ca',
  ],
  CERT_NOT_YET_VALID: [
    'shows a certificate that is not valid yet',
    'check the clock of this machine, then ask the administrator of the server',
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'shows the certificate of another host',
    'check the host in the address; where it is right, ask its administrator',
  ],
  ...unknownAuthority('DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'),
  ...unknownAuthority('UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
}

function unknownAuthority(...codes: readonly string[]): Record<string, readonly [string, string]> {
  const meaning = [
    'shows a certificate of an authority that this machine does not know',
    'check the address; if the authority is your own, name its certificate in ca',
  ] as const
  return Object.fromEntries(codes.map((code) => [code, meaning]))
}

const outages: Readonly<Record<string, readonly [string, string]>> = {
  ENOTFOUND: ['has no address', 'check the name of the host, and the name server'],
  EAI_AGAIN: ['has no address for now', 'check the name server'],
  ECONNREFUSED: ['refuses connections', 'check host and port, and whether the server runs'],
  ETIMEDOUT: ['did not answer in time', `${checkNetwork}, or raise connectTimeoutMs`],
  EHOSTUNREACH: ['cannot be reached', checkNetwork],
  ENETUNREACH: ['cannot be reached', checkNetwork],
  UND_ERR_CONNECT_TIMEOUT: ['did not answer in time', `${checkNetwork}, or raise connectTimeoutMs`],
  UND_ERR_HEADERS_TIMEOUT: ['stayed silent for too long', `${later}, or raise firstByteTimeoutMs`],
  UND_ERR_BODY_TIMEOUT: ['stayed silent within its answer', `${later}, or raise idleTimeoutMs`],
}

const unusableResponses: readonly (readonly [RegExp, string, string])[] = [
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'answered with endless headers', checkAddress],
  [/^HPE_/, 'does not answer in HTTP', 'check host and port, and whether it speaks https'],
  [/^(?:Z_DATA_ERROR$|ERR_.*BROTLI|ERR__ERROR)/, 'packed its answer wrongly', checkServer],
]

type FailedRequest = { readonly label: string; readonly limits: RequestLimits }

/** What to throw for an error of a request: the caller's reason if it stopped the request, or a failure that names the time limit or the server. */
export function toRequestFailure(error: unknown, { label, limits }: FailedRequest): unknown {
  if (limits.caller.aborted) return limits.caller.reason
  if (!limits.timeout.aborted) return toNetworkFailure(error, label)
  const problem = `${label} took longer than ${limits.totalTimeoutMs} ms`
  return unreachable(problem, `${later}, or raise totalTimeoutMs`)
}

/** The failure for an error of the network, or for a response that cannot be understood. An error of ours is returned as it is. */
export function toNetworkFailure(error: unknown, label: string): unknown {
  const code = networkCode(error)
  if (error instanceof Failure || code === undefined || code === 'UND_ERR_INVALID_ARG') return error
  if (tlsCode.test(code)) {
    const [problem, help] = untrusted[code] ?? [
      'and Rollcall cannot agree on who the server or the client is',
      'check its certificate and ca, and clientCertificate where it wants one',
    ]
    return unreadable(`${label} ${problem} (${code})`, help, { cause: error })
  }
  // The cause would quote what the server sent.
  for (const [pattern, problem, help] of unusableResponses)
    if (pattern.test(code)) return unreadable(`${label} ${problem} (${code})`, help)
  // With TLS 1.3, a client without the expected certificate may see nothing but the end of the connection.
  const hint = label.startsWith('https:') ? ', and check whether it wants a clientCertificate' : ''
  const [problem, help] = outages[code] ?? ['ended the connection too soon', `${later}${hint}`]
  return unreachable(`${label} ${problem} (${code})`, help, { cause: error })
}

const brokenConnections = new Set(['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET'])

/** Whether the connection broke or was refused, which may be over at the next attempt. */
export function isBrokenConnection(error: unknown): boolean {
  return brokenConnections.has(networkCode(error) ?? '')
}

const cutResponses = new Set(['ECONNRESET', 'UND_ERR_SOCKET', 'ERR_STREAM_PREMATURE_CLOSE', 'Z_BUF_ERROR'])

/** Whether a failure is that of a response whose connection broke within the body. */
export function isCutResponse(error: unknown): boolean {
  return error instanceof Failure && cutResponses.has(networkCode(error.cause) ?? '')
}

function networkCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'HTTPParserError') return errorCode(error) ?? 'HPE_OTHER'
  // A host with several addresses fails with one error for each of them. The first one is reported.
  return errorCode(error) ?? (error instanceof AggregateError ? networkCode(error.errors[0]) : undefined)
}
