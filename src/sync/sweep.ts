import { dueDeliveries } from '../store/deliveries/due.ts'
import { runsToClose } from '../store/deliveries/end.ts'
import { dueRuns } from '../store/runs/claims.ts'
import { releaseStranded } from '../store/workers/leases.ts'
import type { SyncContext } from './context.ts'
import { finishRun } from './deliver/deliver.ts'
import { digestAnswered } from './digests.ts'
import { deliveryJob, enqueue } from './enqueue.ts'
import { markEndedTakeovers, readLeftUncertain } from './repair/uncertain.ts'

/**
 * Enqueues everything that is due by the store and that no process works on. The queue may have lost any of it; jobs that it still
 * has are left as they are. A process that starts asks for `newJobIds`: the jobs that it finds in the queue may be held there for a
 * while by a process that has ended. Without `retries`, runs whose last attempt failed are left to the queue, which makes a pause.
 */
export async function sweep(
  ctx: SyncContext,
  { newJobIds = false, retries = true } = {},
): Promise<{ readonly enqueued: number }> {
  const { db } = ctx.store
  const stranded = await releaseStranded(db, ctx.lease)
  await markEndedTakeovers(ctx)
  await readLeftUncertain(ctx)
  for (const run of await runsToClose(db)) await finishRun(ctx, run)
  const runs = (await dueRuns(db)).flatMap(({ runId, jobId, attempt, wasReleased }) => {
    if (wasReleased && !retries && !stranded.has(runId)) return []
    const id = stranded.has(runId) ? `${runId}-stranded-${attempt}` : jobId
    return [{ name: 'run', payload: { runId }, id } as const]
  })
  const deliveries = (await dueDeliveries(db, { now: ctx.now() })).map(deliveryJob)
  const jobs = [...runs, ...deliveries]
  await enqueue(ctx, newJobIds ? jobs.map((job) => ({ ...job, id: `${job.id}-by-${ctx.lease.id}` })) : jobs)
  for (const connection of ctx.connections.values()) await digestAnswered(ctx, connection)
  if (jobs.length > 0) ctx.events.sweepEnqueued({ jobs: jobs.length })
  return { enqueued: jobs.length }
}
