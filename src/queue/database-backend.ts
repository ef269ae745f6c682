import { createPostgresBackend, type PgPool, type PgPoolClient, runMigrations, withBackend } from 'bullmq'
import type { Pool, PoolClient, Queryable } from '../database/pool.ts'
import { lacksRight, missingRight } from '../database/rights.ts'
import { errorCode, Failure } from '../errors.ts'
import type { Events } from '../telemetry/events.ts'
import { type Backend, consumerOptions, producerOptions } from './backend.ts'
import { createConnectionReport } from './connection-errors.ts'
import { jobsSchema } from './tables.ts'

const { Queue: BullQueue, Worker: BullWorker } = withBackend(createPostgresBackend)

/**
 * Stores jobs in the schema `bullmq` of a database, over its pool, whose sessions have that schema in their search path. Each consumer
 * borrows one session while it works.
 */
export async function openDatabaseBackend(
  database: { readonly pool: Pool; readonly location: string },
  events: Events,
): Promise<Backend> {
  const { location } = database
  const report = createConnectionReport(location, events)
  const pool = lendPool(database.pool)
  const insistent = lendPool(database.pool, insisting(report.failed))
  await prepareTables(database.pool, location)

  return {
    location,
    createProducer(name, retry) {
      return new BullQueue(name, { ...producerOptions(retry), connection: pool }).on('error', report.failed)
    },
    createConsumer(name, processor, settings) {
      const worker = new BullWorker(name, processor, { ...consumerOptions(settings), connection: insistent })
      worker.on('error', report.failed).on('active', report.connected).on('drained', report.connected)
      return { worker, [Symbol.dispose]: () => {} }
    },
    async probe() {
      // Changes nothing, but fails on a server that takes no writes.
      await pool.query('update bullmq.meta set value = value where false')
    },
    async [Symbol.asyncDispose]() {},
  }
}

type QueryGuard = <T>(answer: Promise<T>) => Promise<T>

/**
 * Wraps a pool for BullMQ. BullMQ adds listeners to a pool and never removes them, so the wrapper ignores them: BullMQ notices a lost
 * connection when it uses it, and the owner of the pool listens to errors.
 */
function lendPool(pool: Pool, ask: QueryGuard = (answer) => answer): PgPool {
  const lent: PgPool = {
    connect: async () => {
      const client = await pool.connect()
      return withQuery(client, (text, params) => ask(send(client, text, params)))
    },
    query: <R>(text: string, params?: readonly unknown[]) => ask(send<R>(pool, text, params)),
    end: async () => {},
    on: () => lent,
    removeAllListeners: () => lent,
  }
  return lent
}

function send<R>(where: Queryable, text: string, params?: readonly unknown[]): ReturnType<typeof where.query<R>> {
  return where.query<R>(text, params)
}

/** BullMQ describes a node-postgres client with overloads that the compiler does not find in its generic `on`. */
function withQuery(client: PoolClient, query: Queryable['query']): PgPoolClient {
  return new Proxy(client, { get: (own, name) => (name === 'query' ? query : Reflect.get(own, name)) }) as PgPoolClient
}

/** Error codes of a server that accepts no writes, e.g. with a full disk. */
const takesNoWrites = /^(?:53100|ENOSPC|EDQUOT|25006)$/

/**
 * Makes BullMQ retry recording the end of a job until the server accepts it. BullMQ retries only connection errors; after any other error
 * the job would belong to this worker until its lock expires, although nobody works on it.
 */
function insisting(failed: (error: Error) => void): QueryGuard {
  return async (answer) => {
    try {
      return await answer
    } catch (error) {
      if (!(error instanceof Error) || !takesNoWrites.test(errorCode(error) ?? '')) throw error
      failed(error)
      throw Object.assign(new Error('the server takes no writes', { cause: error }), { code: 'ECONNREFUSED' })
    }
  }
}

async function prepareTables(pool: Pool, location: string): Promise<void> {
  try {
    const client = await pool.connect()
    try {
      await runMigrations(await withoutNeedlessSchema(client))
    } catch (error) {
      throw lacksRight(error) ? await missingRight(client, { schema: jobsSchema, location }, error) : error
    } finally {
      client.release()
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('queue_unreachable', `Cannot prepare the tables of the queue in ${location}: ${reason}`, {
      cause: error,
    })
  }
}

/**
 * BullMQ creates its schema if it does not exist. PostgreSQL requires the right to create schemas for that statement even if the schema
 * exists, so the statement is skipped for an existing schema.
 */
async function withoutNeedlessSchema(client: PoolClient): Promise<PgPoolClient> {
  const { rows } = await client.query('SELECT to_regnamespace($1) IS NOT NULL AS "isThere"', [jobsSchema])
  if (!rows[0].isThere) return client as PgPoolClient
  const query: Queryable['query'] = async (text, params) =>
    text.startsWith('CREATE SCHEMA IF NOT EXISTS') ? { rows: [], rowCount: null } : await send(client, text, params)
  return withQuery(client, query)
}
