import type { OthersGoOn } from '../../contract/control/plan-shapes.ts'
import type { Verdict } from '../../identity/change.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { mainFeed, openFeed } from './feeds.ts'
import { planEvents } from './plan-events.ts'
import { planExport } from './plan-export.ts'
import { previewStage } from './stage.ts'
import { heldAlone } from './waiting-people.ts'

/** Why a plan would be held. */
type HeldPlan = {
  /** None: it would not be held. */
  readonly verdicts: readonly Verdict[]
  /** The only people who would be held. Left out: everybody would be. */
  readonly leftOut?: OthersGoOn
}

/**
 * Why what a run would do now is held. Reads what the run would read, and stores and sends nothing. Throws as a run would if that cannot be
 * read.
 */
export async function heldPlan(
  ctx: Pick<SyncContext, 'store' | 'now' | 'connections' | 'indexing'>,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<HeldPlan> {
  const feed = await openFeed(ctx, connection, { name: mainFeed(connection), claim: null, signal })
  const stage = previewStage({ maxChanges: 0 })
  const changeFilter = { saveIndex: null, onWholeRead: () => {} }
  try {
    const plan =
      feed.name === 'webhook'
        ? await planEvents(ctx, connection, { feed, stage, split: null, signal })
        : await planExport(ctx, connection, { feed, stage, changeFilter, signal })
    const leftOut = await heldAlone(ctx.store.db, { connection: connection.name, feed: feed.name, plan })
    return { verdicts: plan.guards.filter(({ ok }) => !ok), ...(leftOut && { leftOut }) }
  } finally {
    await feed.reading.close?.()
  }
}
