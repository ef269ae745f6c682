import type { Dispatcher } from 'undici'
import { errorCode } from '../../errors.ts'
import { tlsFault } from '../../system/tls-fault.ts'
import type { Unreachable, UnreachableReason } from './answer.ts'

/** What may have ended a request besides the error itself. */
export type EndCauses = {
  readonly host: string
  readonly timeoutMs: number
  readonly timeout: AbortSignal
  readonly signal: AbortSignal | undefined
}

/** Whether a connection was established and writing the request had begun. */
export type Progress = { sent: boolean }

const reasonsByCode: Readonly<Record<string, UnreachableReason>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_PRX_TLS: 'tls',
  EPROTO: 'tls',
}

const causesByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to it',
  ENETUNREACH: 'no route to it',
}

const tlsCode = /^(?:CERT_|CRL_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA)/

const descriptions: Readonly<Record<UnreachableReason, string>> = {
  connect: 'cannot be connected to',
  dns: 'has no address that could be found',
  tls: 'could not prove who it is, or does not speak TLS',
  timeout: 'did not answer in time',
  reset: 'ended the connection before it answered',
  aborted: 'was not waited for, because the caller stopped',
  withheld: 'was not asked',
}

/** An interceptor that records when a request begins to be written. From then on it may take effect. */
export function noticeSending(progress: Progress): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler)
    handler.onRequestStart = (controller, context) => {
      progress.sent = true
      start?.(controller, context)
    }
    return dispatch(options, handler)
  }
}

/** The answer for a request that failed below HTTP. Rethrows errors about a request that cannot be written. */
export function unreachableAnswer(error: unknown, { sent }: Progress, ending: EndCauses): Unreachable {
  const code = codeOrName(error)
  if (code === 'UND_ERR_INVALID_ARG') throw error
  const reason = reasonOf(code, sent, ending)
  const details = reason === 'timeout' ? `limit ${ending.timeoutMs} ms` : code
  const message = `${ending.host} ${descriptions[reason]} (${details})`
  const cause = reason === 'tls' ? tlsFault(code) : causesByCode[code]
  return { status: 'unreachable', reason, message, sent, ...(cause !== undefined && { cause }) }
}

/** The answer if the caller or the timeout stopped the reading of a body; null if the server or the network did. */
export function stoppedReading(error: unknown, ending: EndCauses): Unreachable | null {
  const answer = unreachableAnswer(error, { sent: true }, ending)
  return answer.reason === 'aborted' || answer.reason === 'timeout' ? answer : null
}

function reasonOf(code: string, sent: boolean, { signal, timeout }: EndCauses): UnreachableReason {
  if (signal?.aborted) return 'aborted'
  if (timeout.aborted) return 'timeout'
  const known = reasonsByCode[code]
  if (known !== undefined) return known
  if (tlsCode.test(code)) return 'tls'
  return sent ? 'reset' : 'connect'
}

function codeOrName(error: unknown): string {
  return errorCode(error) ?? (error instanceof Error ? error.name : 'unknown')
}
