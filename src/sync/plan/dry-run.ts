import type { OthersGoOn } from '../../contract/control/plan-shapes.ts'
import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { Reject } from '../../identity/record.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { KeptPlan } from '../../store/schema.ts'
import { requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { mainFeed, type OpenedFeed, openFeed, openLinked } from './feeds.ts'
import { readPlanInputs } from './kept-plan.ts'
import { linkedConnections } from './linked.ts'
import { planEvents } from './plan-events.ts'
import { planExport } from './plan-export.ts'
import { allChanges, memoryStage } from './stage.ts'
import type { PreparedPlan } from './summarize-plan.ts'
import { heldAlone } from './waiting-people.ts'

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
  /** The only people whom a run would hold. Left out: if a guard fails, everybody is held. */
  readonly leftOut?: OthersGoOn
  readonly changes: readonly StagedChange[]
  /** Identifies the plan and its inputs, for a run that must result in the same plan. */
  readonly kept: KeptPlan
  readonly warnings: readonly string[]
  readonly rejects: readonly Reject[]
  /** The plans of the linked connections, each from its own reading of the export. Left out if there are none. */
  readonly also?: readonly PlanDocument[]
}

/** What a run would do now: reads the source and the roster, stores nothing and sends nothing. Linked connections are planned too. */
export async function planDryRun(ctx: SyncContext, name: string, signal: AbortSignal): Promise<PlanDocument> {
  const connection = requireConnection(ctx, name)
  const linked = linkedConnections(ctx, name)
  for (const each of [...linked, connection]) await ensureConnection(ctx.store.db, each.name)
  const fetched = await openFeed(ctx, connection, { name: mainFeed(connection), claim: null, signal })
  try {
    const plan = await planFeed(ctx, connection, { feed: fetched, signal })
    if (linked.length === 0) return plan
    const also: PlanDocument[] = []
    for (const each of linked) also.push(await planLinked(ctx, each, { fetched, signal }))
    return { ...plan, also }
  } finally {
    await fetched.reading.close?.()
  }
}

type LinkedInput = { readonly fetched: OpenedFeed; readonly signal: AbortSignal }

async function planLinked(
  ctx: SyncContext,
  connection: SyncConnection,
  { fetched, signal }: LinkedInput,
): Promise<PlanDocument> {
  const feed = await openLinked(ctx, connection, { fetched, claim: null, signal })
  return await planFeed(ctx, connection, { feed, signal }).finally(() => feed.reading.close?.())
}

type FeedInput = { readonly feed: OpenedFeed; readonly signal: AbortSignal }

async function planFeed(
  ctx: SyncContext,
  connection: SyncConnection,
  { feed, signal }: FeedInput,
): Promise<PlanDocument> {
  const origin = await readPlanInputs(ctx, connection)
  const stage = memoryStage()
  const changeFilter = { saveIndex: null, onWholeRead: () => {} }
  const plan =
    feed.name === 'webhook'
      ? await planEvents(ctx, connection, { feed, stage, split: null, signal })
      : await planExport(ctx, connection, { feed, stage, changeFilter, signal })
  const leftOut = await heldAlone(ctx.store.db, { connection: connection.name, feed: feed.name, plan })
  const kept = { ...origin, digest: plan.digest, version: plan.source?.version ?? null }
  const shown = { ...withoutStored(plan), ...(leftOut && { leftOut }) }
  return { connection: connection.name, ...shown, kept, changes: await allChanges(stage) }
}

/** The plan without what only the store of a run needs. */
export function withoutStored({
  heldPart: _,
  faults: __,
  pairs: ___,
  known: ____,
  header: _____,
  index: ______,
  statedOtherwise: _______,
  heldAgain: ________,
  ...plan
}: PreparedPlan) {
  return plan
}
