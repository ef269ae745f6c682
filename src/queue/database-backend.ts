import { createPostgresBackend, type PgPool, type PgPoolClient, runMigrations, withBackend } from 'bullmq'
import type { Pool, Queryable } from '../database/pool.ts'
import { Failure } from '../errors.ts'
import type { Events } from '../telemetry/events.ts'
import { type Backend, consumerOptions, producerOptions } from './backend.ts'
import { createConnectionReport } from './connection-errors.ts'

const { Queue: BullQueue, Worker: BullWorker } = withBackend(createPostgresBackend)

/**
 * Jobs kept in the schema `bullmq` of a database, over its pool, whose sessions have that schema in their search path.
 * Each consumer borrows one session for as long as it works.
 */
export async function openDatabaseBackend(
  database: { readonly pool: Pool; readonly place: string },
  events: Events,
): Promise<Backend> {
  const { place } = database
  const pool = lendPool(database.pool)
  const report = createConnectionReport(place, events)
  await prepareTables(pool, place)

  return {
    place,
    createProducer(name, retry) {
      return new BullQueue(name, { ...producerOptions(retry), connection: pool }).on('error', report.failed)
    },
    createConsumer(name, processor, settings) {
      const worker = new BullWorker(name, processor, { ...consumerOptions(settings), connection: pool })
      worker.on('error', report.failed).on('active', report.connected).on('drained', report.connected)
      return { worker, [Symbol.dispose]: () => {} }
    },
    async [Symbol.asyncDispose]() {},
  }
}

/**
 * A pool as BullMQ may use it. BullMQ adds listeners to a pool and never removes them, so this one takes none: BullMQ learns of a
 * lost connection where it uses that connection, and the pool's owner listens to the rest.
 */
function lendPool(pool: Pool): PgPool {
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

async function prepareTables(pool: PgPool, place: string): Promise<void> {
  try {
    const client = await pool.connect()
    try {
      await runMigrations(client)
    } finally {
      client.release()
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('queue_unreachable', `Cannot prepare the tables of the queue in ${place}: ${reason}`, {
      cause: error,
    })
  }
}
