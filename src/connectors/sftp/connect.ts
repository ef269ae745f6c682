import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Algorithms, ServerHostKeyAlgorithm } from 'ssh2'
import SftpClient from 'ssh2-sftp-client'
import type { ConnectorContext } from '../connector.ts'
import { unreachable } from '../file/failures.ts'
import { authentication, type Credentials, readCredentials } from './credentials.ts'
import { type ConnectAttempt, connectFailure, unknownHostKeys } from './failures.ts'
import { SftpSession } from './session.ts'

const keepaliveMs = 15_000

/** The algorithms that are offered, strongest first. No SHA-1, no CBC, no group of 1024 bits, and no compression, which could be a bomb. */
const algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group18-sha512',
    'diffie-hellman-group14-sha256',
    'diffie-hellman-group-exchange-sha256',
  ],
  serverHostKey: [
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'rsa-sha2-512',
    'rsa-sha2-256',
  ],
  cipher: [
    'aes256-gcm@openssh.com',
    'aes128-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    'aes256-ctr',
    'aes192-ctr',
    'aes128-ctr',
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} as const

type AlgorithmTable = Omit<typeof algorithms, 'serverHostKey'> & {
  readonly serverHostKey: readonly ServerHostKeyAlgorithm[]
}

/** Which server to connect to, and its limits. */
export type SftpServer = {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly hostKeys: readonly string[]
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly totalTimeoutMs: number
}

type Access = { readonly secret: ConnectorContext['secret']; readonly signal: AbortSignal }

/**
 * Logs in to the server if its host key is one of the pinned ones. Secrets are read for each login. A server has keys of several
 * types and presents one of them; if that one is not pinned, the connection is tried again with the other types.
 */
export async function connectSftp(server: SftpServer, { secret, signal }: Access): Promise<SftpSession> {
  const credentials = await readCredentials(secret)
  const deadlineMs = performance.now() + server.connectTimeoutMs
  const presented: string[] = []
  let hostKeyAlgorithms: readonly ServerHostKeyAlgorithm[] = algorithms.serverHostKey
  for (;;) {
    signal.throwIfAborted()
    const credential = 'key' in credentials ? 'the private key' : 'the password'
    const attempt: ConnectAttempt = { host: server.host, port: server.port, credential, phase: 'connect' }
    try {
      return await connectOnce({ server, credentials, attempt, hostKeyAlgorithms, deadlineMs, signal })
    } catch (error) {
      signal.throwIfAborted()
      if (attempt.mismatch) presented.push(fingerprintOf(attempt.mismatch))
      const others = attempt.mismatch ? otherAlgorithms(hostKeyAlgorithms, attempt.mismatch) : []
      if (others.length > 0) hostKeyAlgorithms = others
      else if (presented.length > 0 && attempt.phase === 'handshake') throw unknownHostKeys(attempt, presented, error)
      else throw connectFailure(error, attempt)
    }
  }
}

type ConnectInput = {
  readonly server: SftpServer
  readonly credentials: Credentials
  readonly attempt: ConnectAttempt
  readonly hostKeyAlgorithms: readonly ServerHostKeyAlgorithm[]
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

async function connectOnce(input: ConnectInput): Promise<SftpSession> {
  const { server, deadlineMs, signal } = input
  const client = new SftpClient('rollcall', { error: () => {}, end: () => {}, close: () => {} })
  const socket = connect({ host: server.host, port: server.port, noDelay: true })
  const failed = Promise.withResolvers<never>()
  let firstError: { readonly error: unknown } | undefined
  const fail = (error: unknown) => {
    firstError ??= { error }
    failed.reject(error)
  }
  const onAbort = () => fail(signal.reason)
  const timer = setTimeout(() => fail(tooSlow(server)), Math.max(0, deadlineMs - performance.now()))
  signal.addEventListener('abort', onAbort, { once: true })
  // The client's own errors lack the code of the cause. These listeners stay, so that a late error does not end the process.
  socket.on('error', fail)
  client.on('error', fail)
  try {
    const sftp = await Promise.race([failed.promise, login(client, socket, input)])
    return new SftpSession({ sftp, client, socket, signal, ...server })
  } catch (error) {
    socket.destroy()
    throw firstError ? firstError.error : error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

async function login(client: SftpClient, socket: Socket, input: ConnectInput) {
  const { server, credentials, attempt, hostKeyAlgorithms } = input
  await once(socket, 'connect')
  attempt.phase = 'handshake'
  client.on('handshake', () => {
    attempt.phase = 'login'
  })
  client.on('ready', () => {
    attempt.phase = 'subsystem'
  })
  return client.connect({
    sock: socket,
    username: server.username,
    readyTimeout: 0,
    keepaliveInterval: keepaliveMs,
    algorithms: mutableAlgorithms({ ...algorithms, serverHostKey: hostKeyAlgorithms }),
    hostVerifier: (hostKey: Buffer) => {
      const fingerprint = fingerprintOf(hostKey)
      const isPinned = server.hostKeys.some((known) => known.replace(/=$/, '') === fingerprint)
      if (!isPinned) attempt.mismatch = hostKey
      return isPinned
    },
    ...authentication(client, credentials, server.username),
  })
}

/** The fingerprint as ssh-keygen -l prints it: SHA256:… */
function fingerprintOf(hostKey: Buffer): string {
  return `SHA256:${createHash('sha256').update(hostKey).digest('base64').replace(/=+$/, '')}`
}

/** The offered algorithms without those of the presented key; none if the server presented a type that was not offered. */
function otherAlgorithms(
  offered: readonly ServerHostKeyAlgorithm[],
  presented: Buffer,
): readonly ServerHostKeyAlgorithm[] {
  const type = keyTypeOf(presented)
  const others = offered.filter((algorithm) => (algorithm.startsWith('rsa-') ? 'ssh-rsa' : algorithm) !== type)
  return others.length < offered.length ? others : []
}

// A public key begins with the length and the name of its type.
function keyTypeOf(hostKey: Buffer): string {
  return hostKey.length < 4 ? '' : hostKey.toString('latin1', 4, 4 + hostKey.readUInt32BE(0))
}

// ssh2 accepts only mutable arrays.
function mutableAlgorithms({ kex, serverHostKey, cipher, hmac, compress }: AlgorithmTable): Algorithms {
  return {
    kex: [...kex],
    serverHostKey: [...serverHostKey],
    cipher: [...cipher],
    hmac: [...hmac],
    compress: [...compress],
  }
}

function tooSlow({ host, port, connectTimeoutMs }: SftpServer) {
  const help = 'check host and port and the firewalls between, or raise connectTimeoutMs'
  return unreachable(`${host}:${port} did not complete the login within ${connectTimeoutMs} ms`, help)
}
