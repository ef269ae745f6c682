import { Failure } from '../../errors.ts'
import type { JobRequest } from '../../queue/jobs.ts'
import { type DueDelivery, dueDeliveries } from '../../store/deliveries/due.ts'
import { dueRuns, formerRows } from '../../store/runs/claims.ts'
import { waitingRunsOf } from '../../store/runs/runs.ts'
import type { SyncContext } from './context.ts'

/** A run with at least this many rows is long. Smaller ones take a second or two. */
export const minRowsOfLongRun = 5000

/** Adds jobs to the queue. They are only hints: if the queue is unreachable, the next sweep adds them again from the store. */
export async function enqueue(ctx: SyncContext, jobs: readonly JobRequest[]): Promise<void> {
  try {
    await ctx.enqueue(jobs)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'queue_unreachable') throw error
    ctx.events.enqueueFailed({ jobs: jobs.length, reason: error.message })
  }
}

/** Enqueues the due batches of a run. Returns their number. */
export async function enqueueDeliveries(ctx: SyncContext, runId: string): Promise<number> {
  const due = await dueDeliveries(ctx.store.db, { now: ctx.now(), runId })
  await enqueue(ctx, due.map(deliveryJob))
  return due.length
}

/** Enqueues everything that is due of one connection, as the sweep does for all. */
export async function enqueueDue(ctx: SyncContext, connection: string): Promise<void> {
  const { db } = ctx.store
  const deliveries = await dueDeliveries(db, { now: ctx.now(), connection })
  await enqueue(ctx, [...(await runJobs(ctx, await dueRuns(db, { connection }))), ...deliveries.map(deliveryJob)])
}

/** Starts the runs that waited for another run of their connection to end. Of two, the older goes first. */
export async function enqueueWaiting(ctx: SyncContext, connection: string): Promise<void> {
  const runIds = await waitingRunsOf(ctx.store.db, connection)
  const waiting = runIds.map((runId) => ({ runId, jobId: runId }))
  await enqueue(ctx, await runJobs(ctx, waiting))
}

/**
 * The jobs of runs. Long runs, and runs of unknown length, have their own workers; those of unknown length go first, because most are short.
 * Of the other runs, the batches of a started run are sent before the next run begins.
 */
export async function runJobs(
  { store: { db } }: Pick<SyncContext, 'store'>,
  runs: readonly { readonly runId: string; readonly jobId: string }[],
): Promise<JobRequest[]> {
  const rows = await formerRows(
    db,
    runs.map(({ runId }) => runId),
  )
  return runs.map(({ runId, jobId }) => {
    const job = { name: 'run', payload: { runId }, id: jobId } as const
    const former = rows.get(runId)
    if (former === null) return { ...job, line: 'long runs' }
    return { ...job, line: (former ?? 0) >= minRowsOfLongRun ? 'long runs' : 'short', round: 1 }
  })
}

/**
 * The job of a batch. Of runs with many batches, the second batch goes behind the first ones of all others, so that the smaller ones do not
 * wait for the largest. But departures and returns never wait for joiners and movers, of which there may always be more.
 */
export function deliveryJob({ runId, batch, kind, jobId, isLong }: DueDelivery): JobRequest {
  const job = { name: kind, payload: { runId, batch }, id: jobId }
  if (!isLong) return { ...job, line: 'short' }
  return { ...job, line: 'long batches', round: kind === 'upsert' ? batch : 0 }
}
