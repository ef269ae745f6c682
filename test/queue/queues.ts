import { randomUUID } from 'node:crypto'
import { openDatabase } from '../../src/database/database.ts'
import { openQueue, type Queue, type QueueOptions } from '../../src/queue/queue.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createEmptyPgliteDatabase, createEmptyPostgresDatabase } from '../helpers/servers/databases.ts'
import { redisUrl } from '../helpers/servers/provided.ts'

export type Where = AsyncDisposable & { readonly backend: QueueOptions['backend'] }

/** Every place that can keep a queue, for `describe.each(places)('$name', ({ open }) => …)`. */
export const backends: readonly { readonly name: string; readonly open: () => Promise<Where> }[] = [
  { name: 'Redis', open: openRedis },
  { name: 'PostgreSQL', open: async () => openOn(await createEmptyPostgresDatabase()) },
  { name: 'PGlite', open: async () => openOn(await createEmptyPgliteDatabase()) },
]

async function openRedis(): Promise<Where> {
  return { backend: { kind: 'redis', url: await redisUrl() }, async [Symbol.asyncDispose]() {} }
}

async function openOn(server: AsyncDisposable & { readonly at: string }): Promise<Where> {
  await using opening = new AsyncDisposableStack()
  opening.use(server)
  const database = opening.use(await openDatabase({ at: server.at, schemas: ['rollcall', 'bullmq'], migrations: [] }))
  const opened = opening.move()
  return { backend: { kind: 'database', database }, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** A queue of its own for each test, in a place that tests share; it does not wait long between two attempts. */
export function startQueue({ backend }: Pick<Where, 'backend'>, options: Partial<QueueOptions> = {}): Promise<Queue> {
  const retry = { firstSeconds: 0.01, ...options.retry }
  return openQueue({ backend, name: randomUUID(), events: silentEvents(), ...options, retry })
}
