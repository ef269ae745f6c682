import type { Reading } from '../../connectors/connector.ts'
import { type ClaimedRun, claimRun } from '../../store/runs/claims.ts'
import { addWaitingRun, askersOfRun, ensureConnection, type Trigger } from '../../store/runs/runs.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { type Share, shareReading } from './share.ts'

/** A run of another connection that is planned from what this one reads. */
export type Rider = { readonly claim: ClaimedRun; readonly connection: SyncConnection; readonly share: Share }

/** The connections that are planned from the source of this one. */
export function ridersOf({ connections }: Pick<SyncContext, 'connections'>, name: string): readonly SyncConnection[] {
  return [...connections.values()].filter(({ rides }) => rides === name)
}

/**
 * Begins a run of each connection that rides along, and hands out what was opened: the source is read once for all of them. One that has
 * another run at work reads the source by itself afterwards.
 */
export async function takeAlong(
  ctx: SyncContext,
  { run }: ClaimedRun,
  { name, reading }: { name: string; reading: Reading },
): Promise<{ readonly own: Share; readonly riders: readonly Rider[] }> {
  const { db } = ctx.store
  const { full, verify, sample } = run.options
  const options = { ...(full && { full }), ...(verify && { verify }), ...(sample && { sample }) }
  const claimed: Omit<Rider, 'share'>[] = []
  for (const connection of ridersOf(ctx, name)) {
    await ensureConnection(db, connection.name)
    const runId = await addWaitingRun(db, {
      connection: connection.name,
      feed: 'source',
      trigger: run.trigger as Trigger,
      options,
      requestedBy: await askersOfRun(db, run.id),
      ridesWith: run.id,
      now: ctx.now(),
    })
    ctx.events.runRequested({ runId, connection: connection.name, trigger: run.trigger })
    const claim = await claimRun(db, { id: runId, lease: ctx.lease, now: ctx.now() })
    if (claim) claimed.push({ claim, connection })
  }
  const [own, ...others] = shareReading(reading, claimed.length + 1)
  if (own === undefined) throw new Error('nobody reads')
  const riders = claimed.flatMap((rider, at) => {
    const share = others[at]
    return share === undefined ? [] : [{ ...rider, share }]
  })
  return { own, riders }
}
