import { sql } from 'kysely'
import { rollcall } from '../audit/trail.ts'
import { recordRestore } from '../connections/installation.ts'
import { releaseEvents } from '../inbox/inbox.ts'
import { dropPlan } from '../plans/plans.ts'
import { recordUnapproved } from '../roster/unapproved-people.ts'
import { setRunState } from '../runs/runs.ts'
import type { Db } from '../schema.ts'

const reason = 'the store was restored to an earlier time'

/**
 * Prepares a restored store for work. Every unfinished plan is cancelled, because it and newer plans may have been delivered since the
 * backup. `desired` stays, and every connection first learns from the platform what happened since. Returns the number of runs that were
 * ended.
 */
export async function prepareRestored(tx: Db, { until, now }: { until: Date; now: Date }): Promise<number> {
  const runs = await tx
    .selectFrom('runs')
    .select(['id', 'state'])
    .where('state', 'in', ['waiting', 'reading', 'planned', 'held', 'delivering'])
    .execute()
  for (const { id, state } of runs) {
    const isPlanning = state === 'reading' || state === 'planned'
    await setRunState(tx, {
      id,
      now,
      reason,
      ...(isPlanning ? { to: 'failed', failure: 'conflict' } : { to: 'cancelled' }),
    })
    // A part of it may have been approved since the backup: the rest would be so few that no limit counts them.
    if (state === 'held') await recordUnapproved(tx, { runId: id, onlyLeavers: true, now })
    await dropPlan(tx, id, now)
    await releaseEvents(tx, id)
  }
  await sql`delete from takeovers`.execute(tx)
  await sql`delete from leases`.execute(tx)
  // Everybody is looked up before anything is planned.
  await sql`delete from in_doubt`.execute(tx)
  // A token that was revoked after the backup would be valid again.
  await sql`delete from access_sessions`.execute(tx)
  await sql`update access_tokens set revoked_at = ${now}, revoked_by = ${rollcall} where revoked_at is null`.execute(tx)
  await sql`update connections set target_lease = null`.execute(tx)
  await recordRestore(tx, { until, now })
  return runs.length
}

/** The time of the newest fact in the store. */
export async function knownUntil(db: Db): Promise<Date> {
  const { rows } = await sql<{ at: Date | null }>`
    select greatest((select max(created_at) from runs), (select max(finished_at) from runs),
      (select max(as_of) from roster)) as at`.execute(db)
  return rows[0]?.at ?? new Date(0)
}
