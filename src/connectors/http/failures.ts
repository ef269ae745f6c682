import { errorCode, Failure } from '../../errors.ts'
import { unreachable, unreadable } from '../file/failures.ts'

/** What a status means for an operator. The text of the answer may hold anything and is never shown. */
const refusals: Readonly<Record<number, readonly [string, string]>> = {
  204: ['has nothing to give', 'check the address'],
  206: ['gave a part although all was asked for', 'check the server'],
  400: ['does not understand the request', 'check the address and its parameters'],
  401: ['does not accept the credentials', 'check them, and whether they have expired'],
  403: ['does not let these credentials read', 'let the account read this list'],
  404: ['knows nothing under this address', 'check the address'],
  407: ['wants credentials for a proxy', 'connect without one'],
  410: ['has withdrawn this address', 'check the address'],
}

const passing = new Set([408, 425, 429])

/** The failure for a status that is no success. It can be retried if the cause may go away by itself. */
export function refusedStatus(status: number, where: string, retryAfterMs: number | null): Failure {
  if (passing.has(status) || status >= 500) {
    const wait = retryAfterMs === null ? 'try again later' : `it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`
    const what = status === 429 ? 'has had too many requests' : 'is in trouble'
    return unreachable(`${where} ${what} (status ${status})`, wait)
  }
  const [what, help] = refusals[status] ?? ['gave an unexpected answer', 'check the address']
  return unreadable(`${where} ${what} (status ${status})`, help)
}

const tlsCode =
  /^(?:CERT_|CRL_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/

const outages: Readonly<Record<string, readonly [string, string]>> = {
  ENOTFOUND: ['has no address', 'check the name of the host, and the name server'],
  EAI_AGAIN: ['has no address for now', 'check the name server'],
  ECONNREFUSED: ['refuses connections', 'check host and port, and whether the server runs'],
  ETIMEDOUT: ['did not answer in time', 'check the network, or raise connectTimeoutMs'],
  EHOSTUNREACH: ['cannot be reached', 'check the network'],
  ENETUNREACH: ['cannot be reached', 'check the network'],
  UND_ERR_CONNECT_TIMEOUT: ['did not answer in time', 'check the network, or raise connectTimeoutMs'],
  UND_ERR_HEADERS_TIMEOUT: ['stayed silent for too long', 'try again later, or raise idleTimeoutMs'],
  UND_ERR_BODY_TIMEOUT: ['stayed silent within its answer', 'try again later, or raise idleTimeoutMs'],
}

const nonsense: readonly (readonly [RegExp, string, string])[] = [
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'answered with endless headers', 'check the address'],
  [/^HPE_/, 'does not answer in HTTP', 'check host and port, and whether it speaks https'],
  [/^(?:Z_DATA_ERROR$|ERR_.*BROTLI|ERR__ERROR)/, 'packed its answer wrongly', 'check the server'],
]

/** What may end a request on our side. */
export type Stop = {
  readonly caller: AbortSignal
  readonly timeout: AbortSignal
  readonly either: AbortSignal
  readonly totalTimeoutMs: number
}

/** What to throw for an error of a request: the caller's reason if it stopped the request, or a failure that names the time limit or the server. */
export function explained(error: unknown, { where, stop }: { readonly where: string; readonly stop: Stop }): unknown {
  if (stop.caller.aborted) return stop.caller.reason
  if (!stop.timeout.aborted) return brokenRequest(error, where)
  return unreachable(`${where} took longer than ${stop.totalTimeoutMs} ms`, 'try again later, or raise totalTimeoutMs')
}

/** The failure for an error of the network, or for an answer that cannot be understood. An error of our own stays as it is. */
export function brokenRequest(error: unknown, where: string): unknown {
  const code = networkCode(error)
  if (error instanceof Failure || code === undefined || code === 'UND_ERR_INVALID_ARG') return error
  if (tlsCode.test(code)) {
    const help = 'check its certificate and ca, and clientCertificate where it wants one'
    return unreadable(`${where} and Rollcall cannot agree on who the server or the client is (${code})`, help, {
      cause: error,
    })
  }
  // The cause is left out because it holds what the server sent.
  for (const [pattern, what, help] of nonsense)
    if (pattern.test(code)) return unreadable(`${where} ${what} (${code})`, help)
  // With TLS 1.3, a client without the expected certificate may see nothing but the end of the connection.
  const hint = where.startsWith('https:') ? ', and check whether it wants a clientCertificate' : ''
  const [what, help] = outages[code] ?? ['ended the connection too soon', `try again later${hint}`]
  return unreachable(`${where} ${what} (${code})`, help, { cause: error })
}

function networkCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'HTTPParserError') return errorCode(error) ?? 'HPE_OTHER'
  // A host with several addresses fails with one error for each of them. The first one speaks for all.
  return errorCode(error) ?? (error instanceof AggregateError ? networkCode(error.errors[0]) : undefined)
}
