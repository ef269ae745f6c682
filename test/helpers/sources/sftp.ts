import type { ConnectorContext } from '../../../src/connectors/connector.ts'
import { connectSftp, type SftpServer } from '../../../src/connectors/sftp/connect.ts'
import type { SftpSession } from '../../../src/connectors/sftp/session.ts'
import { account, type SshServer } from './ssh-server.ts'

/** Secrets of a source by the path of their setting. */
export function secrets(values: Readonly<Record<string, string>>): ConnectorContext['secret'] {
  return (path) => {
    const value = values[path]
    return value === undefined ? null : { read: async () => value }
  }
}

export type SessionOptions = Partial<SftpServer> & {
  readonly secrets?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Logs in to a test server as a source does. */
export function sessionOn(
  { port, fingerprint }: Pick<SshServer, 'port' | 'fingerprint'>,
  { secrets: values = { password: account.password }, signal, ...settings }: SessionOptions = {},
): Promise<SftpSession> {
  const server = {
    host: '127.0.0.1',
    port,
    username: account.username,
    hostKeys: [fingerprint],
    connectTimeoutMs: 20_000,
    idleTimeoutMs: 20_000,
    totalTimeoutMs: 60_000,
    ...settings,
  }
  return connectSftp(server, { secret: secrets(values), signal: signal ?? new AbortController().signal })
}

/** What a promise was rejected with. */
export async function failureOf(work: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  try {
    await work
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
  throw new Error('expected a failure, and there was none')
}
