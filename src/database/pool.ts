import type { Pool as NodePostgresPool, PoolClient as NodePostgresPoolClient } from 'pg'

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
