import { type FreshEvents, pendingConnections, retryFailedEvents, settleFresh } from '../../store/inbox/inbox.ts'
import { addWaitingRun } from '../../store/runs/runs.ts'
import type { SyncContext, WebhookFeed } from '../context.ts'
import { sweep } from '../sweep.ts'

/** The events of a run that failed are tried again after this time. */
const retryAfterMs = 5 * 60_000

/**
 * Asks for a run wherever events have come in and none has come for a while, or the oldest has waited long enough. Events that only
 * say that something changed have the source read, and are done with once that run is noted.
 */
export async function requestEventRuns(ctx: SyncContext): Promise<void> {
  const { db } = ctx.store
  const now = ctx.now()
  await retryFailedEvents(db, { before: new Date(now.getTime() - retryAfterMs) })
  let asked = 0
  for (const fresh of await pendingConnections(db)) {
    const feed = ctx.connections.get(fresh.connection)?.feeds.webhook
    if (!feed || !isDue(fresh, feed, now)) continue
    await askForRun(ctx, { connection: fresh.connection, thin: feed.settings.thin })
    asked++
  }
  if (asked > 0) await sweep(ctx)
}

function isDue({ oldestReceivedAt, newestReceivedAt }: FreshEvents, { settings }: WebhookFeed, now: Date): boolean {
  const secondsSince = (instant: string): number => (now.getTime() - Date.parse(instant)) / 1000
  return (
    secondsSince(newestReceivedAt) >= settings.quietSeconds ||
    secondsSince(oldestReceivedAt) >= settings.quietMostSeconds
  )
}

async function askForRun(ctx: SyncContext, { connection, thin }: { connection: string; thin: boolean }): Promise<void> {
  const feed = thin ? 'source' : 'webhook'
  const run = { connection, feed, trigger: 'webhook', options: {}, now: ctx.now() } as const
  const runId = await ctx.store.db.transaction().execute(async (tx) => {
    const id = await addWaitingRun(tx, run)
    if (thin) await settleFresh(tx, { connection, runId: id })
    return id
  })
  ctx.events.runRequested({ runId, connection, trigger: 'webhook' })
}
