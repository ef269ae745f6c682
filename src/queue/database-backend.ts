import { createPostgresBackend, type PgPool, runMigrations, withBackend } from 'bullmq'
import type { Pool } from '../database/pool.ts'
import { Failure } from '../errors.ts'
import type { Events } from '../telemetry/events.ts'
import type { Backend } from './backend.ts'
import { consumerOptions, producerOptions } from './bull-options.ts'
import { lentPool } from './lent-pool.ts'
import { createTroubleReport } from './trouble.ts'

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
  const pool = lentPool(database.pool)
  const trouble = createTroubleReport(place, events)
  await prepareTables(pool, place)

  return {
    place,
    createProducer(name, retry) {
      return new BullQueue(name, { ...producerOptions(retry), connection: pool }).on('error', trouble.heard)
    },
    createConsumer(name, processor, settings) {
      const worker = new BullWorker(name, processor, { ...consumerOptions(settings), connection: pool })
      worker.on('error', trouble.heard).on('active', trouble.back).on('drained', trouble.back)
      return { worker, [Symbol.dispose]: () => {} }
    },
    async [Symbol.asyncDispose]() {},
  }
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
