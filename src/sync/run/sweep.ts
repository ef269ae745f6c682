import { Failure } from '../../errors.ts'
import type { Queue } from '../../queue/queue.ts'
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
 * Enqueues everything that is due by the store and that no process works on, because the queue may have lost its job. A job that the
 * queue still has stays as it is. `unavailableJobs`: given at the start of a process. Those jobs may belong to a process that has ended,
 * so due work behind them gets a second job. Without `retries`, failed runs wait for the queue, which retries them after a pause.
 */
export async function sweep(
  ctx: SyncContext,
  { unavailableJobs, retries = true }: { unavailableJobs?: Queue['unavailableJobs']; retries?: boolean } = {},
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
  const unavailable = jobs.length > 0 && unavailableJobs ? await withoutFailure(unavailableJobs) : new Set()
  await enqueue(
    ctx,
    jobs.map((job) => (unavailable.has(job.id) ? { ...job, id: `${job.id}-by-${ctx.lease.id}` } : job)),
  )
  if (jobs.length > 0) ctx.events.sweepEnqueued({ jobs: jobs.length })
  return { enqueued: jobs.length }
}

/** The unavailable jobs; none if the queue does not answer. */
async function withoutFailure(unavailableJobs: Queue['unavailableJobs']): Promise<ReadonlySet<string>> {
  try {
    return await unavailableJobs()
  } catch (error) {
    // What is enqueued now does not arrive either, and the next sweep comes.
    if (error instanceof Failure && error.code === 'queue_unreachable') return new Set()
    throw error
  }
}
