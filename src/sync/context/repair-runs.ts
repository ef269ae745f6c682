import { addWaitingRun, waitingRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncContext } from './context.ts'
import { enqueueWaiting } from './enqueue.ts'

/** Adds and starts a run that reads no source and delivers what is still pending of the last facts from HR. */
export async function requestRepair(ctx: SyncContext, connection: string): Promise<void> {
  await addRepair(ctx.store.db, { connection, now: ctx.now() })
  await emitRepair(ctx, connection)
}

/** Adds such a run without starting it. */
export async function addRepair(db: Db, { connection, now }: { connection: string; now: Date }): Promise<void> {
  await addWaitingRun(db, { connection, feed: 'roster', trigger: 'repair', options: {}, now })
}

/** Logs an added run, and starts it. */
export async function emitRepair(ctx: SyncContext, connection: string): Promise<void> {
  const waiting = await waitingRun(ctx.store.db, { connection, feed: 'roster' })
  if (waiting) ctx.events.runRequested({ runId: waiting.id, connection, trigger: 'repair' })
  await enqueueWaiting(ctx, connection)
}
