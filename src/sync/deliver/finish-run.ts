import { recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import { closeRun, isDue } from '../../store/deliveries/end.ts'
import { deleteAnsweredOf } from '../../store/deliveries/outcomes.ts'
import { getRun } from '../../store/runs/runs.ts'
import type { SyncContext } from '../context/context.ts'
import { enqueueWaiting } from '../context/enqueue.ts'
import { makePopulationStatement, reportPopulationStatement } from '../context/population-statement.ts'
import { forgetStoredDates } from './stored-dates.ts'

type RunRef = { readonly runId: string; readonly connection: string }

/** Closes a run if nothing of it is due any more, and lets the next one of its connection begin. */
export async function finishRun(ctx: SyncContext, { runId, connection }: RunRef): Promise<void> {
  const { db } = ctx.store
  // The last batches may end at the same time. All but one return here, without a transaction.
  if (await isDue(db, runId)) return
  const ended = await db.transaction().execute(async (tx) => {
    if (!(await closeRun(tx, runId, ctx.now()))) return null
    const statement = await makePopulationStatement(ctx, tx, { runId, connection })
    const closed = await getRun(tx, runId)
    const details = { confirmed: closed?.confirmed ?? 0, problems: closed?.problems ?? 0 }
    await recordAuditEntry(tx, { act: 'run.finished', connection, by: rollcall, runId, details, now: ctx.now() })
    return { run: closed, statement }
  })
  forgetStoredDates(ctx.lease, { connection, runId })
  if (ended?.statement) reportPopulationStatement(ctx, ended.statement)
  const run = ended?.run ?? null
  if (run) {
    const { confirmed, problems, durationMs } = run
    ctx.events.runFinished({ runId, connection, confirmed, problems, durationMs: durationMs ?? 0 })
    ctx.traces.recordRun(run)
  }
  await enqueueWaiting(ctx, connection)
  await ctx.yieldToShortWork?.()
  await deleteAnsweredOf(db, { runId, connection })
}
