import type { ClaimedDelivery } from '../../store/deliveries/claim.ts'
import { closeTakeover, endedTakeovers, markUncertain } from '../../store/deliveries/uncertain.ts'
import type { SyncContext } from '../context/context.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { requestRepair } from '../context/repair-runs.ts'

/**
 * Marks the people of an overtaken attempt as uncertain. Its requests since then may have undone newer facts on the platform, which has no
 * fencing. The next run looks the people up.
 */
export async function markOvertaken(ctx: SyncContext, claim: ClaimedDelivery): Promise<void> {
  const { runId, batch, connection } = claim
  await ctx.store.db.transaction().execute(async (tx) => {
    await markUncertain(tx, { runId, batch, now: ctx.now() })
    await closeTakeover(tx, { runId, batch, lease: ctx.lease.id })
  })
  await requestRepair(ctx, connection)
}

/** Does the same for batches whose former process has ended since they were taken over from it. */
export async function markEndedTakeovers(ctx: SyncContext): Promise<void> {
  const all = await endedTakeovers(ctx.store.db, ctx.lease)
  await forEachIsolated(ctx, { during: 'sweep', all }, async ({ connection, ...takeover }) => {
    await ctx.store.db.transaction().execute(async (tx) => {
      await markUncertain(tx, { ...takeover, now: ctx.now() })
      await closeTakeover(tx, takeover)
    })
    await requestRepair(ctx, connection)
  })
}
