import type { Verdict } from '../../identity/change.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { mainFeed, openFeed } from './feeds.ts'
import { planEvents } from './plan-events.ts'
import { planExport } from './plan-export.ts'
import { previewStage } from './stage.ts'

/**
 * The failed verdicts for which what a run would do now is held; none if it would not be held. Reads what the run would read, and stores
 * and sends nothing. Throws as a run would if that cannot be read.
 */
export async function heldVerdicts(
  ctx: Pick<SyncContext, 'store' | 'now' | 'connections' | 'indexing'>,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  const feed = await openFeed(ctx, connection, { name: mainFeed(connection), claim: null, signal })
  const stage = previewStage({ maxChanges: 0 })
  const changeFilter = { saveIndex: null, onWholeRead: () => {} }
  try {
    const { guards } =
      feed.name === 'webhook'
        ? await planEvents(ctx, connection, { feed, stage, split: null, signal })
        : await planExport(ctx, connection, { feed, stage, changeFilter, signal })
    return guards.filter(({ ok }) => !ok)
  } finally {
    await feed.reading.close?.()
  }
}
