import { createPostgresBackend, type PgPool, type PgPoolClient, runMigrations, withBackend } from 'bullmq'
import type { Pool, PoolClient, Queryable } from '../database/pool.ts'
import { lacksRight, missingRight } from '../database/rights.ts'
import { Failure } from '../errors.ts'
import type { Events } from '../telemetry/events.ts'
import { type Backend, consumerOptions, producerOptions } from './backend.ts'
import { createConnectionReport } from './connection-errors.ts'

const { Queue: BullQueue, Worker: BullWorker } = withBackend(createPostgresBackend)

const schema = 'bullmq'

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
  await prepareTables(database.pool, place)

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
    async probe() {
      // Changes nothing, and is refused by a server that takes no writes.
      await pool.query('update bullmq.meta set value = value where false')
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

async function prepareTables(pool: Pool, place: string): Promise<void> {
  try {
    const client = await pool.connect()
    try {
      await runMigrations(await withoutNeedlessSchema(client))
    } catch (error) {
      throw lacksRight(error) ? await missingRight(client, { schema, place }, error) : error
    } finally {
      client.release()
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('queue_unreachable', `Cannot prepare the tables of the queue in ${place}: ${reason}`, {
      cause: error,
    })
  }
}

/**
 * BullMQ makes its schema if it does not exist. PostgreSQL wants the right to create schemas for that even if there is nothing to make, so
 * a schema that an administrator has prepared is not asked for.
 */
async function withoutNeedlessSchema(client: PoolClient): Promise<PgPoolClient> {
  const { rows } = await client.query('SELECT to_regnamespace($1) IS NOT NULL AS "isThere"', [schema])
  if (!rows[0].isThere) return client as PgPoolClient
  const queryable: Queryable = client
  const query: Queryable['query'] = async (text, params) =>
    text.startsWith('CREATE SCHEMA IF NOT EXISTS') ? { rows: [], rowCount: null } : await queryable.query(text, params)
  return new Proxy(client, { get: (own, name) => (name === 'query' ? query : Reflect.get(own, name)) }) as PgPoolClient
}
