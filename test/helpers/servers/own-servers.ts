import { Redis } from 'ioredis'
import { type ServerKind, type StartedServer, startOwnServer } from './servers.ts'

/** A server for one test alone, which may kill it, pause it and start it again: its address stays the same. */
export type OwnServer = StartedServer
export type OwnRedis = OwnServer & {
  /** Has it forget everything. */
  flush(): Promise<void>
}

/** Starts a server for one test alone. PostgreSQL keeps what was committed over a `kill`, Redis keeps nothing. */
export function ownServer(kind: 'redis'): Promise<OwnRedis>
export function ownServer(kind: 'postgres'): Promise<OwnServer>
export async function ownServer(kind: ServerKind): Promise<OwnServer | OwnRedis> {
  const server = await startOwnServer(kind)
  return kind === 'redis' ? { ...server, flush: () => flush(server) } : server
}

async function flush({ url }: OwnServer): Promise<void> {
  const client = new Redis(url)
  try {
    await client.flushall()
  } finally {
    client.disconnect()
  }
}
