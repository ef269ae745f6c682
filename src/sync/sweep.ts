import { dueDeliveries } from '../store/deliveries.ts'
import { releaseLeft } from '../store/left.ts'
import { dueRuns } from '../store/run-claims.ts'
import type { SyncContext } from './context.ts'
import { doubtEndedTakeovers, doubtWhatMayBeLate } from './doubts.ts'
import { deliveryJob, enqueue } from './enqueue.ts'

/**
 * Enqueues whatever the store says is due and nobody works on. The queue may have lost any of it; what it still has is left as it is.
 */
export async function sweep(ctx: SyncContext): Promise<{ readonly enqueued: number }> {
  const { db } = ctx.store
  await releaseLeft(db, ctx.owner)
  await doubtEndedTakeovers(ctx)
  await doubtWhatMayBeLate(ctx)
  const runs = (await dueRuns(db)).map(({ runId, jobId }) => ({ name: 'run', payload: { runId }, id: jobId }) as const)
  const deliveries = (await dueDeliveries(db, { now: ctx.now() })).map(deliveryJob)
  await enqueue(ctx, [...runs, ...deliveries])
  const enqueued = runs.length + deliveries.length
  if (enqueued > 0) ctx.events.sweepEnqueued({ jobs: enqueued })
  return { enqueued }
}
