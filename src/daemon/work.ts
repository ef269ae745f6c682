import type { BoundWorkers } from '../queue/jobs.ts'
import { type SyncContext, sweep, syncWorkers } from '../sync/sync.ts'
import type { Parts } from './parts.ts'
import { repeat } from './repeat.ts'

const concurrency = 4
const sweepMs = 60_000
/** How long jobs in flight may take to end; the rest of the twenty seconds is for closing what they used. */
const stopWithinMs = 12_000

/** Starts the workers, and the sweep that enqueues now and then whatever is due and the queue does not have. */
export async function startWork({ queue, sync }: Parts): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  const working = await queue.work(boundTo(sync), { concurrency })
  starting.defer(() => working.stop({ withinMs: stopWithinMs }))
  await sweep(sync)
  starting.use(
    repeat(() => sweep(sync), {
      pauseMs: sweepMs,
      failed: (error) => sync.events.unexpected({ during: 'sweep', error }),
    }),
  )
  return starting.move()
}

function boundTo(sync: SyncContext): BoundWorkers {
  return {
    run: (payload, signal) => syncWorkers.run(sync, payload, signal),
    upsert: (payload, signal) => syncWorkers.upsert(sync, payload, signal),
    update: (payload, signal) => syncWorkers.update(sync, payload, signal),
    delete: (payload, signal) => syncWorkers.delete(sync, payload, signal),
  }
}
