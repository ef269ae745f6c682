import { errorCode, Failure } from '../../errors.ts'
import { unreachable, unreadable } from '../file/failures.ts'

/** How far an attempt to connect has come. */
export type ConnectAttempt = {
  readonly host: string
  readonly port: number
  /** The credential of the login, as messages name it. */
  readonly credential: string
  phase: 'connect' | 'handshake' | 'login' | 'subsystem'
  /** The host key, if it is not one of the pinned ones. */
  mismatch?: Buffer
}

/** The failure for an attempt to connect. */
export function connectFailure(error: unknown, attempt: ConnectAttempt): Failure {
  if (error instanceof Failure) return error
  const server = `${attempt.host}:${attempt.port}`
  const options = { cause: error }
  switch (attempt.phase) {
    case 'connect':
      return networkFailure(error, server)
    case 'handshake':
      return handshakeFailure(error, server)
    case 'login':
      return loginFailure(error, server, attempt.credential)
    case 'subsystem':
      return unreadable(`${server} opens no SFTP for this account`, 'ask its owner to allow SFTP for it', options)
    default:
      return attempt.phase satisfies never
  }
}

/** The failure for a server that has none of the pinned host keys. */
export function unknownHostKeys({ host, port }: ConnectAttempt, presented: readonly string[], error: unknown): Failure {
  const keys = presented.length === 1 ? `the host key ${presented[0]}` : `the host keys ${presented.join(', ')}`
  const problem = `${host}:${port} presented ${keys}, which hostKeys does not list; nothing was sent to it`
  const help = 'ask its owner whether its key was changed, and only then write the new one'
  return unreadable(problem, help, { cause: error })
}

/** Advice for a download that broke off. */
export const resumeAdvice = 'the next run continues where it broke off'

/** The failure for a connection that the server closed. */
export function lostConnection(server: string, error?: unknown): Failure {
  return unreachable(`${server} closed the connection`, `${resumeAdvice}; check the network if it happens again`, {
    cause: error,
  })
}

/** The failure for a response that does not fit the request. */
export function brokenResponse(server: string, error?: unknown): Failure {
  const help = 'it may be no SFTP server, or a faulty one; ask its owner'
  return unreadable(`${server} gave an answer that is not one of SFTP version 3`, help, { cause: error })
}

/** The failure for a status of the server. `action` is, for example, "read exports/people.csv on host:22". */
export function statusFailure(error: unknown, action: string): Failure {
  const code = statusOf(error)
  const help = helpByStatus[code ?? -1] ?? `the server answered with the status ${code ?? 'unknown'}; its log says why`
  return unreadable(`cannot ${action}`, help, { cause: error })
}

/** The status of SFTP version 3 in an error; undefined if the error did not come from the server. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined
}

/** The status codes of SFTP version 3 that are handled. */
export const sftpStatus = { endOfFile: 1, noSuchFile: 2, permissionDenied: 3, failure: 4 } as const

const helpByStatus: Readonly<Record<number, string>> = {
  [sftpStatus.noSuchFile]: 'there is no such file or folder; check the path',
  [sftpStatus.permissionDenied]: 'permission denied; let the account that Rollcall logs in with do it',
}

const helpByCode: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host name; check host, and the name server of this machine',
  EAI_AGAIN: 'the name server does not answer; check the network of this machine',
  ECONNREFUSED: 'it refused the connection; check host and port, and whether the server is running',
  ECONNRESET: 'it closed the connection at once; check whether it lets this machine in',
  EPIPE: 'it closed the connection at once; check whether it lets this machine in',
  ETIMEDOUT: 'it does not answer; check host and port, and the firewalls between',
  EHOSTUNREACH: 'there is no route to it; check the network and the firewalls between',
  ENETUNREACH: 'there is no route to it; check the network of this machine',
  EACCES: 'this machine may not open the connection; check its firewall',
}

function networkFailure(error: unknown, server: string): Failure {
  const code = errorCode(error) ?? 'an unknown error'
  const help = helpByCode[code] ?? `the system answered ${code}`
  return unreachable(`cannot connect to ${server}`, help, { cause: error })
}

function handshakeFailure(error: unknown, server: string): Failure {
  const message = error instanceof Error ? error.message : ''
  const missingAlgorithm = /no matching (.+)$/.exec(message)?.[1]
  if (missingAlgorithm) {
    const help = 'only current algorithms are accepted; its owner has to bring the server up to date'
    return unreadable(`${server} offers no ${missingAlgorithm} that Rollcall accepts`, help, { cause: error })
  }
  if (/signature/i.test(message)) {
    const help = 'somebody may be between it and this machine; ask its owner before you try again'
    return unreadable(`${server} could not prove that the host key is its own`, help, { cause: error })
  }
  if (/header|identification|greeting|packet/i.test(message)) {
    return unreadable(`${server} does not speak SSH`, 'check host and port', { cause: error })
  }
  const help = 'it may be busy or may not let this machine in; check host and port if it happens again'
  return unreachable(`${server} closed the connection before it was secured`, help, { cause: error })
}

function loginFailure(error: unknown, server: string, credential: string): Failure {
  const isRefused = error instanceof Error && 'level' in error && error.level === 'client-authentication'
  if (isRefused)
    return unreadable(`${server} refused the login with ${credential}`, 'check username and the secret', {
      cause: error,
    })
  const help = 'too many logins may have failed, or the account may be locked; ask its owner if it happens again'
  return unreachable(`${server} closed the connection during the login`, help, { cause: error })
}
