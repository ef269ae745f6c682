import { closeRun, forgetAnswered } from '../../store/deliveries/deliveries.ts'
import { getRun } from '../../store/runs/runs.ts'
import type { SyncContext } from '../context.ts'
import { enqueueWaiting } from '../enqueue.ts'

/** Ends a run if nothing of it is due any more, tells so, and lets the next one of its connection begin. */
export async function finishRun(
  ctx: SyncContext,
  { runId, connection }: { readonly runId: string; readonly connection: string },
): Promise<void> {
  const { db } = ctx.store
  if (!(await closeRun(db, runId, ctx.now()))) return
  const run = await getRun(db, runId)
  if (run) {
    const { confirmed, problems, durationMs } = run
    ctx.events.runFinished({ runId, connection, confirmed, problems, durationMs: durationMs ?? 0 })
  }
  await enqueueWaiting(ctx, connection)
  await forgetAnswered(db, connection)
}
