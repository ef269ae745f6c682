import { Failure } from '../../errors.ts'
import { dueDeliveries } from '../../store/deliveries/due.ts'
import { runsToClose } from '../../store/deliveries/end.ts'
import { dueRuns } from '../../store/runs/claims.ts'
import { releaseAbandoned } from '../../store/workers/leases.ts'
import type { SyncContext } from '../context/context.ts'
import { deliveryJob, enqueue, runJobs } from '../context/enqueue.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { finishRun } from '../deliver/finish-run.ts'
import { markEndedTakeovers } from '../deliver/takeovers.ts'
import { retryUncertain } from '../verify/uncertain.ts'
import { retryUndelivered } from '../verify/undelivered.ts'

/**
 * Enqueues everything that is due by the store and that no process works on. The queue may have lost any of it; jobs that it still
 * has are left as they are. A process that starts says which jobs the queue has `held`: one that has ended may hold them for a while, so
 * what they stand for gets another job. Without `retries`, runs whose last attempt failed are left to the queue, which makes a pause.
 */
export async function sweep(
  ctx: SyncContext,
  { held, retries = true }: { held?: () => Promise<ReadonlySet<string>>; retries?: boolean } = {},
): Promise<{ readonly enqueued: number }> {
  const { db } = ctx.store
  const stranded = await releaseAbandoned(db, ctx.lease)
  await markEndedTakeovers(ctx)
  await retryUncertain(ctx)
  await retryUndelivered(ctx)
  await forEachIsolated(ctx, { during: 'sweep', all: await runsToClose(db) }, (run) => finishRun(ctx, run))
  const due = (await dueRuns(db)).flatMap(({ runId, jobId, attempt, wasReleased }) => {
    if (wasReleased && !retries && !stranded.has(runId)) return []
    return [{ runId, jobId: stranded.has(runId) ? `${runId}-stranded-${attempt}` : jobId }]
  })
  const runs = await runJobs(ctx, due)
  const deliveries = (await dueDeliveries(db, { now: ctx.now() })).map(deliveryJob)
  const jobs = [...runs, ...deliveries]
  const heldIds = jobs.length > 0 && held ? await heldJobIds(held) : new Set()
  await enqueue(
    ctx,
    jobs.map((job) => (heldIds.has(job.id) ? { ...job, id: `${job.id}-by-${ctx.lease.id}` } : job)),
  )
  if (jobs.length > 0) ctx.events.sweepEnqueued({ jobs: jobs.length })
  return { enqueued: jobs.length }
}

async function heldJobIds(held: () => Promise<ReadonlySet<string>>): Promise<ReadonlySet<string>> {
  try {
    return await held()
  } catch (error) {
    // What is enqueued now does not arrive either, and the next sweep comes.
    if (error instanceof Failure && error.code === 'queue_unreachable') return new Set()
    throw error
  }
}
