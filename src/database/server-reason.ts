import { errorCode, Failure } from '../errors.ts'
import { tlsReason } from './tls-reason.ts'

/** Advice by the message of the server or of node-postgres. */
const adviceByMessage: readonly (readonly [message: RegExp, advice: string])[] = [
  [/server does not support SSL/i, 'turn TLS on there (ssl = on)'],
  [/, no encryption$/, 'it may ask for TLS: add sslmode=verify-full to the address'],
  [
    /unsupported startup parameter.*options/,
    'take the options out of the address: the pooler in between passes none on',
  ],
  [
    /timeout (exceeded|expired)|connection timeout|query_wait_timeout/i,
    'look whether the server, or a pooler in between, has connections left for this user',
  ],
]

/** Why a server cannot be used, in words. A host with several addresses fails with one error for each, in an error without a message. */
export function serverReason(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(serverReason))].join('; ')
  if (!(error instanceof Error)) return String(error)
  if (error instanceof Failure) return error.message
  const tls = tlsReason(error, 'sslrootcert in the address')
  if (tls !== null) return tls
  // A timeout of the pool has the interrupted error as its cause.
  const cause =
    error.cause instanceof Error && errorCode(error.cause) !== undefined ? ` (${errorCode(error.cause)})` : ''
  const [, advice] = adviceByMessage.find(([pattern]) => pattern.test(error.message)) ?? []
  return `${error.message}${cause}${advice === undefined ? '' : `; ${advice}`}`
}
