import { Failure } from '../errors.ts'
import type { Enqueued } from '../queue/jobs.ts'
import { type DueDelivery, dueDeliveries } from '../store/deliveries/due.ts'
import { waitingRunsOf } from '../store/runs/runs.ts'
import type { SyncContext } from './context.ts'

/** Tells the queue what is due. This is only a hint: if the queue is away, the store has it, and the next sweep tells the queue again. */
export async function enqueue(ctx: SyncContext, jobs: readonly Enqueued[]): Promise<void> {
  try {
    await ctx.enqueue(jobs)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'queue_unreachable') throw error
    ctx.events.enqueueFailed({ jobs: jobs.length, reason: error.message })
  }
}

export async function enqueueDeliveries(ctx: SyncContext, runId: string): Promise<number> {
  const due = await dueDeliveries(ctx.store.db, { now: ctx.now(), runId })
  await enqueue(ctx, due.map(deliveryJob))
  return due.length
}

/** Starts the runs that waited for another run of their connection to end. Of two, the older goes first. */
export async function enqueueWaiting(ctx: SyncContext, connection: string): Promise<void> {
  const runIds = await waitingRunsOf(ctx.store.db, connection)
  await enqueue(
    ctx,
    runIds.map((runId) => ({ name: 'run', payload: { runId }, id: runId }) as const),
  )
}

/** The second batch of a run goes behind the first ones of all others, so that who sends little does not wait for who sends much. */
export function deliveryJob({ runId, batch, kind, jobId }: DueDelivery) {
  return { name: kind, payload: { runId, batch }, id: jobId, round: batch } as const
}
