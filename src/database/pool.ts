import pg, { type Pool as NodePostgresPool, type PoolClient as NodePostgresPoolClient, type PoolConfig } from 'pg'
import { valueTypes } from './values.ts'

/**
 * The pool that the project, Kysely and BullMQ's Postgres backend query through. It is a real node-postgres pool, over the network for a
 * PostgreSQL server and over the streams of `pglite-socket.ts` for the embedded PGlite.
 */
export type Pool = NodePostgresPool

/** A connection borrowed from a pool. It must be released. */
export type PoolClient = NodePostgresPoolClient

interface QueryResult<R = Record<string, unknown>> {
  rows: R[]
  rowCount: number | null
}

/** A pool or one of its clients: both can run statements. */
export interface Queryable {
  query<R = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<QueryResult<R>>
}

/** An opened database of either kind. */
export type Engine = AsyncDisposable & {
  readonly kind: 'postgres' | 'pglite'
  /** Serves Kysely, BullMQ's Postgres backend and plain SQL alike. */
  readonly pool: Pool
  /** What is open, for messages; it never holds a password. */
  readonly location: string
}

/** A node-postgres pool that rolls back forgotten transactions. A lost connection never ends the process. */
export function createPool(config: PoolConfig): Pool {
  const pool = new pg.Pool({ ...config, types: valueTypes })
  // A lost connection is reported where it is used. An 'error' event without a listener would end the process.
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  pool.on('release', rollBackOpenTransaction)
  return pool
}

/** Queues the ROLLBACK. A client runs its queries in order, so that it runs before any query of the next borrower. */
function rollBackOpenTransaction(error: Error | boolean | undefined, client: PoolClient): void {
  if (error || client.getTransactionStatus() === 'I') return
  client.query('ROLLBACK').catch(ignore)
}

function ignore(): void {}
