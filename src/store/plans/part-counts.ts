import { type RawBuilder, sql } from 'kysely'
import { type ChangeKind, changeKinds, type PlanCounts } from '../../identity/change.ts'
import type { Db } from '../schema.ts'
import { stagedDigest } from './plans.ts'

/** How many people change in each way. */
export type KindCounts = Pick<PlanCounts, ChangeKind>

/** Counts the changes of a run by kind; with `only` those for which the condition holds. */
export async function kindCounts(
  tx: Db,
  runId: string,
  only: RawBuilder<boolean> = sql<boolean>`true`,
): Promise<KindCounts> {
  // People who are sent again without a difference are not counted.
  const { rows } = await sql<{ kind: ChangeKind; people: number }>`
    select kind, count(*)::int as people from changes
    where run_id = ${runId} and (fields is null or fields <> '{}') and ${only} group by kind`.execute(tx)
  const peopleByKind = new Map(rows.map(({ kind, people }) => [kind, people]))
  return Object.fromEntries(changeKinds.map((kind) => [kind, peopleByKind.get(kind) ?? 0])) as KindCounts
}

type PlanTotals = { readonly counts: PlanCounts; readonly people: object }

/** Records the counts of a run whose plan was split, with the digest of what is in it now. */
export async function recordCounts(tx: Db, runId: string, { counts, people }: PlanTotals): Promise<void> {
  const digest = await stagedDigest(tx, runId)
  await tx
    .updateTable('runs')
    .set({ counts: JSON.stringify(counts), people_counts: JSON.stringify(people), digest })
    .where('id', '=', runId)
    .execute()
}
