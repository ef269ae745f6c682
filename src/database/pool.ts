import pg, { type Pool as NodePostgresPool, type PoolClient as NodePostgresPoolClient, type PoolConfig } from 'pg'
import { valueTypes } from './values.ts'

/**
 * What the project, Kysely and BullMQ's Postgres backend query through. Both engines give a real node-postgres pool: a
 * PostgreSQL server over the network, and the embedded PGlite over the streams of `pglite-socket.ts`.
 */
export type Pool = NodePostgresPool

/** One session borrowed from a pool, to be released. */
export type PoolClient = NodePostgresPoolClient

export interface QueryResult<R = Record<string, unknown>> {
  rows: R[]
  rowCount: number | null
}

/** A pool, or one client of it: whatever can run a statement. */
export interface Queryable {
  query<R = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<QueryResult<R>>
}

/** An opened database, whichever of the two it is. */
export type Engine = AsyncDisposable & {
  readonly kind: 'postgres' | 'pglite'
  /** Serves Kysely, BullMQ's Postgres backend and plain SQL alike. */
  readonly pool: Pool
  /** What is open, for messages; it never holds a password. */
  readonly place: string
}

/** A node-postgres pool whose sessions survive their users' mistakes and whose losses never end the process. */
export function createPool(config: PoolConfig): Pool {
  const pool = new pg.Pool({ ...config, types: valueTypes })
  // A connection that drops, idle or lent, is reported where it is used; an unheard 'error' event would end the process.
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  pool.on('release', rollBackWhatIsOpen)
  return pool
}

/** Runs before the pool lends the client again, as the client's queries keep their order. */
function rollBackWhatIsOpen(error: Error | boolean | undefined, client: PoolClient): void {
  if (error || client.getTransactionStatus() === 'I') return
  client.query('ROLLBACK').catch(ignore)
}

function ignore(): void {}
