import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { Reject } from '../../identity/record.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { KeptPlan } from '../../store/schema.ts'
import { connectionOf, type SyncConnection, type SyncContext } from '../context/context.ts'
import { mainFeed, type OpenedFeed, openFeed } from './feeds.ts'
import { keptPlan } from './kept-plan.ts'
import { preparePlan } from './prepare.ts'
import { ridersOf } from './riders.ts'
import { type Share, shareReading } from './share.ts'
import { memoryStage } from './stage.ts'

/** A plan to look at. */
export type PlanDocument = {
  readonly connection: string
  readonly mode: 'snapshot' | 'delta'
  readonly source: {
    readonly name: string
    readonly bytes: number
    readonly textBytes?: number
    readonly cellBytes?: number
    readonly end?: string
  } | null
  readonly asOf: string
  readonly digest: string
  readonly rows: number
  readonly records: number
  readonly counts: PlanCounts
  readonly guards: readonly Verdict[]
  readonly changes: readonly StagedChange[]
  /** Names the plan and what it was made from, for a run that must come to it. */
  readonly kept: KeptPlan
  readonly warnings: readonly string[]
  readonly rejects: readonly Reject[]
  /** The plans of the connections that ride along, from the same reading; left out where there are none. */
  readonly also?: readonly PlanDocument[]
}

/** What a run would do now: reads the source and the roster, stores nothing and sends nothing. */
export async function planOnly(ctx: SyncContext, name: string, signal: AbortSignal): Promise<PlanDocument> {
  const connection = connectionOf(ctx, name)
  const riders = ridersOf(ctx, name)
  for (const { name: rider } of riders) await ensureConnection(ctx.store.db, rider)
  await ensureConnection(ctx.store.db, name)
  const feed = await openFeed(ctx, connection, { name: mainFeed(connection), claim: null, signal })
  if (riders.length === 0 || feed.name !== 'source')
    return await planFrom(ctx, connection, { feed, signal }).finally(() => feed.reading.close?.())
  const [own, ...shares] = shareReading(feed.reading, riders.length + 1)
  const shared = async ({ feeds: { source }, ...rider }: SyncConnection, share: Share | undefined) => {
    if (!source || !share) throw new Error('a connection that rides along has a source')
    const opened = { name: 'source', rules: source, reading: share.reading } as const
    try {
      return await planFrom(ctx, { ...rider, feeds: { source } }, { feed: opened, signal })
    } finally {
      await share.leave()
    }
  }
  const plans = [shared(connection, own), ...riders.map((rider, at) => shared(rider, shares[at]))] as const
  // The last one to end closes the source, also where one of them fails.
  await Promise.allSettled(plans)
  const [plan, ...also] = await Promise.all(plans)
  return { ...plan, also }
}

async function planFrom(
  ctx: SyncContext,
  connection: SyncConnection,
  { feed, signal }: { feed: OpenedFeed; signal: AbortSignal },
): Promise<PlanDocument> {
  const made = await keptPlan(ctx, connection)
  const stage = memoryStage()
  const prepared = await preparePlan(ctx, connection, {
    feed,
    stage,
    everybody: false,
    splits: null,
    sparing: {
      leaving: null,
      onWhole: () => {},
    },
    signal,
    onProgress: () => {},
  })
  const { setAside: _, standing: __, pairs: ___, known: ____, header: _____, index: ______, ...plan } = prepared
  const changes: StagedChange[] = []
  for await (const staged of stage.changes()) changes.push(...staged)
  const kept = { ...made, digest: plan.digest, version: plan.source?.version ?? null }
  return { connection: connection.name, ...plan, kept, changes }
}
