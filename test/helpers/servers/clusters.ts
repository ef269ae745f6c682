import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Cluster, installServer, startPostgres } from './binaries.ts'
import type { StartedServer } from './servers.ts'
import { durable } from './use.ts'

const askAgainMs = 20

/** A primary and a replica that follows it. */
export type Pair = AsyncDisposable & {
  readonly primary: StartedServer
  readonly replica: StartedServer
  /** One address that names both, the primary first. */
  readonly at: string
  /** Resolves when the replica has all that the primary has committed. */
  caughtUp(): Promise<void>
  /** The replica stays as it is from here on. */
  cutOff(): Promise<void>
  /** Makes the replica a primary. */
  promote(): Promise<void>
}

/** Starts a PostgreSQL of this machine as a test wants it, installed where that is possible and it is missing. */
export async function startCluster(cluster: Cluster): Promise<StartedServer> {
  const started = await startPostgres(durable, cluster)
  if (typeof started !== 'string') return started
  const reason = (await installServer('postgres')) ?? (await startPostgres(durable, cluster))
  if (typeof reason !== 'string') return reason
  throw new Error(`no PostgreSQL for this test: ${started}; ${reason}`)
}

export async function startPair(cluster: Omit<Cluster, 'replicaOf'> = {}): Promise<Pair> {
  await using opening = new AsyncDisposableStack()
  const primary = opening.use(await startCluster(cluster))
  const replica = opening.use(await startCluster({ ...cluster, replicaOf: primary.url }))
  const at = primary.url.replace(/(?=\/postgres$)/, `,${new URL(replica.url).host}`)
  const opened = opening.move()
  return {
    primary,
    replica,
    at,
    async caughtUp() {
      const written = await ask(primary, 'select pg_current_wal_flush_lsn()')
      await until(replica, `select pg_last_wal_replay_lsn() >= '${written}'`)
    },
    async cutOff() {
      await ask(replica, `alter system set primary_conninfo = ''`)
      await ask(replica, 'select pg_reload_conf()')
      await until(replica, 'select not exists (select 1 from pg_stat_wal_receiver)')
    },
    async promote() {
      await ask(replica, 'select pg_promote()')
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function until(server: StartedServer, sql: string): Promise<void> {
  while ((await ask(server, sql)) !== true) await pause(askAgainMs)
}

/** The one value that a query answers. */
async function ask({ url }: StartedServer, sql: string): Promise<unknown> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query({ text: sql, rowMode: 'array' })
    return rows[0]?.[0]
  } finally {
    await client.end()
  }
}
