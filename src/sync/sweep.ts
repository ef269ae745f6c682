import { type DueDelivery, dueDeliveries } from '../store/deliveries.ts'
import { dueRuns } from '../store/run-claims.ts'
import { waitingRunsOf } from '../store/runs.ts'
import type { SyncContext } from './context.ts'

/**
 * Enqueues whatever the store says is due and nobody works on. The queue may have lost any of it; what it still has is left as it is.
 */
export async function sweep(ctx: SyncContext): Promise<{ readonly enqueued: number }> {
  const { db } = ctx.store
  const runs = (await dueRuns(db)).map(({ runId, jobId }) => ({ name: 'run', payload: { runId }, id: jobId }) as const)
  const deliveries = (await dueDeliveries(db, { now: ctx.now() })).map(asJob)
  await ctx.enqueue([...runs, ...deliveries])
  const enqueued = runs.length + deliveries.length
  if (enqueued > 0) ctx.events.sweepEnqueued({ jobs: enqueued })
  return { enqueued }
}

export async function enqueueDeliveries(ctx: SyncContext, runId: string): Promise<void> {
  await ctx.enqueue((await dueDeliveries(ctx.store.db, { now: ctx.now(), runId })).map(asJob))
}

/** Starts the runs that waited for another one of their connection to end; of two, the older gets the place. */
export async function enqueueWaiting(ctx: SyncContext, connection: string): Promise<void> {
  const runIds = await waitingRunsOf(ctx.store.db, connection)
  await ctx.enqueue(runIds.map((runId) => ({ name: 'run', payload: { runId }, id: runId }) as const))
}

function asJob({ runId, batch, kind, jobId }: DueDelivery) {
  return { name: kind, payload: { runId, batch }, id: jobId } as const
}
