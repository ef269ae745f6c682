import { connectionsWithDueLeavers } from '../../store/roster/roster.ts'
import { addWaitingRun, hasRosterRunSince } from '../../store/runs/runs.ts'
import type { SyncContext } from '../context/context.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { sweep } from './sweep.ts'

/** A run that failed is tried again after this time. */
const retryAfterMs = 5 * 60_000

/**
 * Requests a roster run for each connection with a leaving date whose day has come. It reads no source, so that an announced departure does
 * not wait for an export that is late, held or broken. While such a run is held, or after it was rejected, another one is requested only
 * when the day of another date comes.
 */
export async function requestDueRuns(ctx: SyncContext): Promise<void> {
  const all = await connectionsWithDueLeavers(ctx.store.db, { now: ctx.now() })
  let added = 0
  await forEachIsolated(ctx, { during: 'due leavers', all }, async (due) => {
    if (await addDueRun(ctx, due)) added++
  })
  if (added > 0) await sweep(ctx)
}

/** Adds the roster run of one connection without starting it. Throws if that fails, because the caller relies on it. */
export async function addDueRuns(ctx: SyncContext, only: { readonly connection: string }): Promise<void> {
  const dueConnections = await connectionsWithDueLeavers(ctx.store.db, { now: ctx.now(), ...only })
  for (const due of dueConnections) await addDueRun(ctx, due)
}

/** Returns whether a run was added. */
async function addDueRun(
  ctx: SyncContext,
  { connection, since }: { readonly connection: string; readonly since: Date },
): Promise<boolean> {
  const { db } = ctx.store
  const now = ctx.now()
  const failedBefore = new Date(now.getTime() - retryAfterMs)
  if (!ctx.connections.has(connection)) return false
  if (await hasRosterRunSince(db, { connection, since, failedBefore, now })) return false
  const runId = await addWaitingRun(db, { connection, feed: 'roster', trigger: 'schedule', options: {}, now })
  ctx.events.runRequested({ runId, connection, trigger: 'schedule' })
  return true
}
