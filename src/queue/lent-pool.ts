import type { PgPool, PgPoolClient } from 'bullmq'
import type { Pool, Queryable } from '../database/pool.ts'

/**
 * A pool as BullMQ may use it. BullMQ adds listeners to a pool that it never removes, so it hears nothing of this one:
 * it learns of a lost connection where it uses that, and the pool's owner listens to the rest.
 */
export function lentPool(pool: Pool): PgPool {
  const queryable: Queryable = pool
  const lent: PgPool = {
    // BullMQ describes a node-postgres client with overloads that the compiler does not find in its generic `on`.
    connect: () => pool.connect() as Promise<PgPoolClient>,
    query: <R>(text: string, params?: readonly unknown[]) => queryable.query<R>(text, params),
    end: async () => {},
    on: () => lent,
    removeAllListeners: () => lent,
  }
  return lent
}
