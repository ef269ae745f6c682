import type { Database } from '../database/database.ts'
import type { Queue } from '../queue/queue.ts'
import { redisName } from '../queue/redis-name.ts'
import type { StoreSchema } from '../store/schema.ts'
import type { Events } from '../telemetry/events.ts'
import type { Config } from './config/config.ts'

type QueueContext = { readonly store: Database<StoreSchema>; readonly events: Events }

/** A long statement of the embedded database blocks this process; its jobs must not be taken for abandoned meanwhile. */
const embeddedLockSeconds = 600

/** Opens the queue in the configured Redis, or else in the database of the store. */
export async function openConfiguredQueue(config: Config, { store, events }: QueueContext): Promise<Queue> {
  const { openQueue } = await import('../queue/queue.ts')
  if (config.queue) return await openQueue({ backend: { kind: 'redis', url: await config.queue.read() }, events })
  const backend = { kind: 'database', database: store } as const
  if (store.kind === 'postgres') return await openQueue({ backend, events })
  const queue = await openQueue({ backend, events, locks: { lockSeconds: embeddedLockSeconds } })
  // This process holds the lock of the embedded database, so every stored job belongs to a process that has ended.
  await queue.clear()
  return queue
}

/** The address of the configured queue as people read it, without a password. */
export async function queueAddress({ queue }: Config, store: Pick<Database<StoreSchema>, 'location'>): Promise<string> {
  return queue ? redisName(await queue.read()) : store.location
}
