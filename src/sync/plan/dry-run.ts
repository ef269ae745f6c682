import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { Reject } from '../../identity/record.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { KeptPlan } from '../../store/schema.ts'
import { requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { mainFeed, type OpenedFeed, openFeed, openLinked } from './feeds.ts'
import { keptPlan } from './kept-plan.ts'
import { linkedConnections } from './linked.ts'
import { preparePlan } from './prepare.ts'
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
  /** The plans of the linked connections, each from its own reading of the export. Left out if there are none. */
  readonly also?: readonly PlanDocument[]
}

/** What a run would do now: reads the source and the roster, stores nothing and sends nothing. */
export async function planDryRun(ctx: SyncContext, name: string, signal: AbortSignal): Promise<PlanDocument> {
  const connection = requireConnection(ctx, name)
  const linked = linkedConnections(ctx, name)
  for (const one of [...linked, connection]) await ensureConnection(ctx.store.db, one.name)
  const fetched = await openFeed(ctx, connection, { name: mainFeed(connection), claim: null, signal })
  try {
    const plan = await planFrom(ctx, connection, { feed: fetched, signal })
    if (linked.length === 0) return plan
    const also: PlanDocument[] = []
    for (const one of linked) also.push(await planLinked(ctx, one, { fetched, signal }))
    return { ...plan, also }
  } finally {
    await fetched.reading.close?.()
  }
}

async function planLinked(
  ctx: SyncContext,
  connection: SyncConnection,
  { fetched, signal }: { fetched: OpenedFeed; signal: AbortSignal },
): Promise<PlanDocument> {
  const feed = await openLinked(ctx, connection, { fetched, claim: null, signal })
  return await planFrom(ctx, connection, { feed, signal }).finally(() => feed.reading.close?.())
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
  const { heldPart: _, standing: __, pairs: ___, known: ____, header: _____, index: ______, ...plan } = prepared
  const changes: StagedChange[] = []
  for await (const staged of stage.changes()) changes.push(...staged)
  const kept = { ...made, digest: plan.digest, version: plan.source?.version ?? null }
  return { connection: connection.name, ...plan, kept, changes }
}
