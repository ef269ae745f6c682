import { connectionsWithDueLeavers } from '../../store/roster/roster.ts'
import { addWaitingRun, hasRosterRunSince } from '../../store/runs/runs.ts'
import type { SyncContext } from '../context.ts'
import { eachApart } from '../each-apart.ts'
import { sweep } from '../sweep.ts'

/** A run that failed is tried again after this time. */
const retryAfterMs = 5 * 60_000

/**
 * Asks for a run of the roster wherever the day of a leaving date has come that waited for it. No source is read, so that a departure
 * that HR has announced does not wait for an export that is late, held or broken. While a person decides about such a run, or after
 * they rejected it, it is asked for again only when the day of another date comes.
 */
export async function requestDueRuns(ctx: SyncContext, only?: { readonly connection: string }): Promise<void> {
  if (await addDueRuns(ctx, only)) await sweep(ctx)
}

/** Adds the runs without starting them. Answers whether there are any. */
export async function addDueRuns(ctx: SyncContext, only?: { readonly connection: string }): Promise<boolean> {
  const { db } = ctx.store
  const now = ctx.now()
  const failedBefore = new Date(now.getTime() - retryAfterMs)
  let added = false
  const all = await connectionsWithDueLeavers(db, { now, ...only })
  await eachApart(ctx, { during: 'due leavers', all }, async ({ connection, since }) => {
    if (!ctx.connections.has(connection)) return
    if (await hasRosterRunSince(db, { connection, since, failedBefore, now })) return
    const runId = await addWaitingRun(db, { connection, feed: 'roster', trigger: 'schedule', options: {}, now })
    ctx.events.runRequested({ runId, connection, trigger: 'schedule' })
    added = true
  })
  return added
}
