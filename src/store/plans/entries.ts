import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'

const columns = sql.raw(
  'identity_id, desired, inferred, deferred_to, cleared_date, deferred_zone, due_at, held_departure, is_by_operator, as_of, employment_as_of, export_is_silent, field_times, absences, group_value',
)

/**
 * In SQL, all roster entries that a plan would write, with the columns of `plan_entries` except the run: stored entries, and those that
 * follow from changes. Entries that follow from changes can be derived only until the plan is accepted.
 */
export function entriesOfPlan(runId: string): RawBuilder<unknown> {
  return sql`(select ${columns} from plan_entries where run_id = ${runId} union all ${entriesOfChanges(runId)})`
}

/** Stores the entries that follow from changes. Needed before a held plan is split or read by other queries. */
export async function writeOutEntries(tx: Db, runId: string): Promise<void> {
  await sql`insert into plan_entries (run_id, ${columns}) select ${runId}, ${columns} from (${entriesOfChanges(runId)}) entry`.execute(
    tx,
  )
  await sql`update changes set is_entry = false where run_id = ${runId} and is_entry`.execute(tx)
}

function entriesOfChanges(runId: string): RawBuilder<unknown> {
  return sql`
    select identity_id, record::jsonb as desired, changes.inferred, null as deferred_to, null as cleared_date, null as deferred_zone,
      null::timestamptz as due_at, null::jsonb as held_departure, false as is_by_operator, runs.as_of, runs.as_of as employment_as_of,
      false as export_is_silent, null::jsonb as field_times, 0 as absences, changes.group_value
    from changes join runs on runs.id = changes.run_id where changes.run_id = ${runId} and is_entry`
}
