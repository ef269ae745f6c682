import { pausedConnections } from '../../store/connections/pauses.ts'
import { type FreshEvents, pendingConnections, retryDueEvents, retryEndedEvents } from '../../store/inbox/inbox.ts'
import { hasUndecidedRun } from '../../store/runs/held-runs.ts'
import { addWaitingRun, type FeedName } from '../../store/runs/runs.ts'
import type { SyncContext, WebhookFeed } from '../context/context.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { sweep } from './sweep.ts'

/** The events of a run that failed or was cancelled are tried again after this time. */
const retryAfterMs = 5 * 60_000

/**
 * Requests a run for each connection with events if none has come for a while, or the oldest has waited long enough. Events that only say
 * that something changed cause a run of the source. Further ones wait while its plan is held, because a newer plan would replace the one
 * that a person is about to approve. Other events proceed; those about people of a held plan queue behind it. Events of a paused
 * connection wait for the end of the pause.
 */
export async function requestEventRuns(ctx: SyncContext): Promise<void> {
  const { db } = ctx.store
  const now = ctx.now()
  await retryEndedEvents(db, { before: new Date(now.getTime() - retryAfterMs) })
  await retryDueEvents(db, { now })
  const fresh = await pendingConnections(db)
  const paused = fresh.length === 0 ? new Map() : await pausedConnections(db, now)
  let added = 0
  await forEachIsolated(ctx, { during: 'event-runs', all: fresh }, async (one) => {
    const feed = ctx.connections.get(one.connection)?.feeds.webhook
    if (!feed || paused.has(one.connection) || !isDue(one, feed, now)) return
    const run = { connection: one.connection, feed: feed.settings.thin ? 'source' : 'webhook' } as const
    if (await hasUndecidedRun(db, { ...run, now })) return
    await addEventRun(ctx, run)
    added++
  })
  if (added > 0) await sweep(ctx)
}

function isDue({ oldestReceivedAt, newestReceivedAt }: FreshEvents, { settings }: WebhookFeed, now: Date): boolean {
  const secondsSince = (instant: string): number => (now.getTime() - Date.parse(instant)) / 1000
  return (
    // Events are dated ahead of a clock that was set back: they do not wait until it is there again.
    Math.abs(secondsSince(newestReceivedAt)) >= settings.quietSeconds ||
    secondsSince(oldestReceivedAt) >= settings.quietMostSeconds
  )
}

async function addEventRun(ctx: SyncContext, run: { connection: string; feed: FeedName }): Promise<void> {
  const runId = await addWaitingRun(ctx.store.db, { ...run, trigger: 'webhook', options: {}, now: ctx.now() })
  ctx.events.runRequested({ runId, connection: run.connection, trigger: 'webhook' })
}
