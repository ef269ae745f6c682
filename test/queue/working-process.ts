import { openDatabase } from '../../src/database/database.ts'
import { openQueue, type QueueOptions } from '../../src/queue/queue.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { upsert, workers } from './samples.ts'

// A process that takes up a job, says so and never finishes it: `node working-process.ts <address> <name> <locks as JSON>`.
const [at = '', name = '', locks = '{}'] = process.argv.slice(2)

const queue = await openQueue({ backend: await backendAt(at), name, events: silentEvents(), locks: JSON.parse(locks) })
await queue.enqueue([upsert(1)])
await queue.work(
  workers({
    upsert() {
      process.stdout.write('begun\n')
      return new Promise(() => {})
    },
  }),
  { concurrency: 1 },
)

async function backendAt(address: string): Promise<QueueOptions['backend']> {
  if (address.startsWith('redis:')) return { kind: 'redis', url: address }
  const database = await openDatabase({ at: address, schemas: ['rollcall', 'bullmq'], migrations: [] })
  return { kind: 'database', database }
}
