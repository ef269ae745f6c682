import { sql } from 'kysely'
import type { ChangeKind } from '../../identity/change.ts'
import type { FeedName } from '../runs/runs.ts'
import type { Db } from '../schema.ts'

/** The guard that holds people who were left in a held plan of which a part was approved. */
const leftGuard = 'leftUnapproved'

/** How many runs are read at once. */
const runsAtOnce = 50

type LeftQuery = { readonly connection: string; readonly feed: FeedName }

/**
 * The people who were left in a held plan of which a part was approved, by key, each with the kind of change that nobody has approved since.
 * Only plans of exports and of the roster hold all differences, so only these can repeat such a change.
 */
export async function leftUnapproved(
  db: Db,
  { connection, feed }: LeftQuery,
): Promise<ReadonlyMap<string, ChangeKind>> {
  const left = new Map<string, ChangeKind>()
  // An export states leaving dates that have come, too.
  const feeds = feed === 'source' ? (['roster', 'source'] as const) : feed === 'roster' ? (['roster'] as const) : []
  for (const of of feeds) {
    const plans = await findLeftPlan(db, { connection, feed: of })
    if (plans === null) continue
    const { rows } = await sql<{ identity_id: string; kind: ChangeKind }>`
      select identity_id, kind from changes
      where run_id = ${plans.left} and not carried and (${plans.left === plans.newest} or exists (
        select 1 from changes newest
        where newest.run_id = ${plans.newest} and newest.identity_id = changes.identity_id and newest.kind = changes.kind))`.execute(
      db,
    )
    for (const { identity_id, kind } of rows) left.set(identity_id, kind)
  }
  return left
}

type PlannedRun = {
  readonly id: string
  readonly at: string
  readonly isAccepted: boolean
  readonly hasParts: boolean
  readonly isHeldAgain: boolean
}

/**
 * Finds the plan in which people were left, going back from the newest one over those that were held for them again; null if there is none,
 * or if another plan was accepted since.
 */
async function findLeftPlan(
  db: Db,
  query: LeftQuery,
): Promise<{ readonly left: string; readonly newest: string } | null> {
  let newest: string | null = null
  for (let before: PlannedRun | null = null; ; ) {
    const runs: PlannedRun[] = await plannedRuns(db, { ...query, before })
    for (const run of runs) {
      newest ??= run.id
      if (run.isAccepted) return null
      if (run.hasParts) return { left: run.id, newest }
      if (!run.isHeldAgain) return null
    }
    before = runs.at(-1) ?? null
    if (before === null) return null
  }
}

type PlannedQuery = LeftQuery & { readonly before: PlannedRun | null }

/** Plans of a feed and accepted exports, the newest first, without parts of others. A run that read no export does not tell what HR states. */
async function plannedRuns(db: Db, { connection, feed, before }: PlannedQuery): Promise<PlannedRun[]> {
  const isOlder = before === null ? sql`true` : sql`(created_at, id) < (${before.at}::timestamptz, ${before.id}::uuid)`
  const { rows } = await sql<PlannedRun>`
    select * from (
      select id, created_at::text as at, created_at, feed, source,
        state in ('delivering', 'finished', 'finished_with_problems', 'unchanged')
          or state = 'cancelled' and exists (select 1 from deliveries where deliveries.run_id = runs.id) as "isAccepted",
        exists (select 1 from runs part where part.part_of_run_id = runs.id) as "hasParts",
        exists (select 1 from json_array_elements(guards) guard
          where guard ->> 'name' = ${leftGuard} and guard ->> 'ok' = 'false') as "isHeldAgain"
      from runs
      where connection = ${connection} and feed in (${feed}, 'source') and digest is not null
        and part_of_run_id is null and held_part_run_id is null and not options ? 'retract' and ${isOlder}
    ) planned
    where (feed = ${feed} or "isAccepted") and (feed <> 'source' or source is not null or not "isAccepted" and ("hasParts" or "isHeldAgain"))
    order by created_at desc, id desc limit ${runsAtOnce}`.execute(db)
  return rows
}
