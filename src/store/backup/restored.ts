import { sql } from 'kysely'
import { rollcall } from '../audit/trail.ts'
import { recordRestore } from '../connections/installation.ts'
import { releaseEvents } from '../inbox/inbox.ts'
import { dropPlan } from '../plans/plans.ts'
import { moveRun } from '../runs/runs.ts'
import type { Db } from '../schema.ts'

const reason = 'the store was put back to what it was at an earlier time'

/**
 * Makes a store fit for work that is older than what happened since: every plan that was under way is void, because it may have been
 * delivered, and newer ones after it. What HR wants stays, and every connection first learns from the platform what it has by now.
 * Answers how many runs were ended.
 */
export async function prepareRestored(tx: Db, { until, now }: { until: Date; now: Date }): Promise<number> {
  const runs = await tx
    .selectFrom('runs')
    .select(['id', 'state'])
    .where('state', 'in', ['waiting', 'reading', 'planned', 'held', 'delivering'])
    .execute()
  for (const { id, state } of runs) {
    const isPlanning = state === 'reading' || state === 'planned'
    await moveRun(tx, {
      id,
      now,
      reason,
      ...(isPlanning ? { to: 'failed', failure: 'conflict' } : { to: 'cancelled' }),
    })
    await dropPlan(tx, id, now)
    await releaseEvents(tx, id)
  }
  await sql`delete from takeovers`.execute(tx)
  await sql`delete from leases`.execute(tx)
  // Everybody is read back before anything is planned.
  await sql`delete from in_doubt`.execute(tx)
  // What was revoked after the backup would let its holder in again.
  await sql`delete from access_sessions`.execute(tx)
  await sql`update access_tokens set revoked_at = ${now}, revoked_by = ${rollcall} where revoked_at is null`.execute(tx)
  await sql`update connections set target_lease = null`.execute(tx)
  await recordRestore(tx, { until, now })
  return runs.length
}

/** Until when a store knows what happened. */
export async function knownUntil(db: Db): Promise<Date> {
  const { rows } = await sql<{ at: Date | null }>`
    select greatest((select max(created_at) from runs), (select max(finished_at) from runs),
      (select max(as_of) from roster)) as at`.execute(db)
  return rows[0]?.at ?? new Date(0)
}
