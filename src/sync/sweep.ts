import { dueDeliveries, runsToClose } from '../store/deliveries/deliveries.ts'
import { releaseStranded } from '../store/workers/stranded.ts'
import { dueRuns } from '../store/runs/claims.ts'
import type { SyncContext } from './context.ts'
import { markEndedTakeovers, recheckLate } from './repair/uncertain.ts'
import { deliveryJob, enqueue } from './enqueue.ts'
import { finishRun } from './deliver/finish.ts'

/**
 * Enqueues whatever the store says is due and nobody works on. The queue may have lost any of it; what it still has is left as it is.
 * A process that starts enqueues `anew`: what it finds in the queue may be held there for a while by one that has ended.
 */
export async function sweep(ctx: SyncContext, { anew = false } = {}): Promise<{ readonly enqueued: number }> {
  const { db } = ctx.store
  await releaseStranded(db, ctx.lease)
  await markEndedTakeovers(ctx)
  await recheckLate(ctx)
  for (const run of await runsToClose(db)) await finishRun(ctx, run)
  const runs = (await dueRuns(db)).map(({ runId, jobId }) => ({ name: 'run', payload: { runId }, id: jobId }) as const)
  const deliveries = (await dueDeliveries(db, { now: ctx.now() })).map(deliveryJob)
  const jobs = [...runs, ...deliveries]
  await enqueue(ctx, anew ? jobs.map((job) => ({ ...job, id: `${job.id}-by-${ctx.lease.id}` })) : jobs)
  if (jobs.length > 0) ctx.events.sweepEnqueued({ jobs: jobs.length })
  return { enqueued: jobs.length }
}
