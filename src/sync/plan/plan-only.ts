import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { Reject } from '../../identity/record.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { KeptPlan } from '../../store/schema.ts'
import type { SyncContext } from '../context.ts'
import { requireDigests } from '../digests.ts'
import { connectionOf } from '../requests.ts'
import { mainFeed, openFeed } from './feeds.ts'
import { keptPlan } from './kept-plan.ts'
import { preparePlan } from './prepare.ts'
import { memoryStage } from './stage.ts'

/** A plan to look at. */
export type PlanDocument = {
  readonly connection: string
  readonly mode: 'snapshot' | 'delta'
  readonly source: { readonly name: string; readonly bytes: number; readonly textBytes?: number } | null
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
}

/** What a run would do now: reads the source and the roster, stores nothing and sends nothing. */
export async function planOnly(ctx: SyncContext, name: string, signal: AbortSignal): Promise<PlanDocument> {
  const connection = connectionOf(ctx, name)
  await ensureConnection(ctx.store.db, name)
  await requireDigests(ctx.store.db, connection)
  const made = await keptPlan(ctx, connection)
  const stage = memoryStage()
  const feed = await openFeed(ctx, connection, { name: mainFeed(connection), claim: null, signal })
  const prepared = await preparePlan(ctx, connection, {
    feed,
    stage,
    everybody: false,
    splits: null,
    sparing: {
      runId: null,
      onWhole: () => {},
    },
    signal,
    onProgress: () => {},
  })
  const { setAside: _, standing: __, pairs: ___, known: ____, header: _____, index: ______, ...plan } = prepared
  const changes: StagedChange[] = []
  for await (const staged of stage.changes()) changes.push(...staged)
  const kept = { ...made, digest: plan.digest, version: plan.source?.version ?? null }
  return { connection: name, ...plan, kept, changes }
}
