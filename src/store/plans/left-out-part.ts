import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { noPeople, type PeopleCounts } from '../../identity/guards/facts.ts'
import { isHeldAgain, moveHeldAgain } from '../roster/unapproved-people.ts'
import { heldReason } from '../runs/held-runs.ts'
import type { Db } from '../schema.ts'
import { writeOutEntries } from './entries.ts'
import { kindCounts, recordCounts } from './part-counts.ts'

type LeftOutInput = {
  readonly runId: string
  readonly connection: string
  /** Added to why they are held. */
  readonly because: string | null
  readonly expiresAt: Date
  readonly now: Date
}

/**
 * Moves the people of a plan who were left out when a part of an earlier plan was approved to a held run of their own, in the transaction
 * that accepts the rest. That run decides nothing about the source: it has their changes, and what the plan states of them for a later day.
 * `recordLeftOutCounts` counts both runs. Returns the held run.
 */
export async function storeLeftOut(
  tx: Db,
  { runId, connection, because, expiresAt, now }: LeftOutInput,
): Promise<string> {
  const id = randomUUID()
  await writeOutEntries(tx, runId)
  const { guards, mode } = await tx
    .selectFrom('runs')
    .select(['guards', 'mode'])
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  const verdicts = Map.groupBy(guards ?? [], ({ ok }) => ok)
  const failed = verdicts.get(false) ?? []
  const reason = [heldReason(failed), ...(because ? [because] : [])].join('; ')
  await sql`
    insert into runs (id, connection, feed, trigger, options, state, reason, mode, as_of, rows, records, warnings, verification, guards,
      configuration, basis, requested_by, expires_at, created_at, started_at)
    select ${id}, connection, feed, trigger, '{}', 'held', ${reason}, 'delta', as_of, rows, 0, '[]', 'null', ${JSON.stringify(failed)},
      configuration, basis, requested_by, ${expiresAt}, ${now}, ${now}
    from runs where id = ${runId}`.execute(tx)
  const { numAffectedRows: moved } = await sql`
    update changes set run_id = ${id} where run_id = ${runId} and ${isHeldAgain(runId)}`.execute(tx)
  const { actual = 0 } = failed.find(({ name }) => name === 'leftUnapproved') ?? {}
  if (Number(moved) !== actual) throw new Error(`run ${runId} holds ${actual} people of an approved part, not ${moved}`)
  await moveHeldAgain(tx, { from: runId, to: id })
  await moveTo(tx, { id, runId, connection })
  await sql`
    update leavers set run_id = ${id}
    where connection = ${connection} and run_id = ${runId}
      and identity_id in (select identity_id from changes where run_id = ${id} and kind <> 'update')`.execute(tx)
  if (mode === 'snapshot') {
    await markUnstated(tx, { id, connection })
    await keepEmployment(tx, { id, runId, connection })
  }
  await tx
    .updateTable('runs')
    .set({ held_part_run_id: id, guards: JSON.stringify(verdicts.get(true) ?? []) })
    .where('id', '=', runId)
    .execute()
  return id
}

/** The keys of the people whom `storeLeftOut` would move out of a plan. */
export async function leftOutOf(db: Db, runId: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ key: string }>`
    select identity_id as key from changes where run_id = ${runId} and ${isHeldAgain(runId)}`.execute(db)
  return new Set(rows.map(({ key }) => key))
}

type MovedInput = { readonly id: string; readonly runId: string; readonly connection: string }

/** Moves what else the plan states of the people whose changes were moved. A waiting row may name a person by a later key. */
async function moveTo(tx: Db, { id, runId, connection }: MovedInput): Promise<void> {
  const isOf = (key: string): RawBuilder<boolean> =>
    sql<boolean>`exists (select from changes where changes.run_id = ${id} and changes.identity_id = ${sql.ref(key)})`
  await sql`
    update plan_entries set run_id = ${id} where run_id = ${runId} and ${isOf('plan_entries.identity_id')}`.execute(tx)
  await sql`
    update waiting_rows set run_id = ${id}
    where run_id = ${runId} and (${isOf('waiting_rows.identity_id')} or exists (
      select from key_answers answer
      where answer.connection = ${connection} and answer.identity_id = waiting_rows.identity_id and answer.same
        and ${isOf('answer.former')}))`.execute(tx)
}

/**
 * The export that is accepted states nothing of people whose change waits: the time of what is known of them stays. That they are missing
 * counts, as this export does not count again.
 */
async function markUnstated(tx: Db, { id, connection }: Omit<MovedInput, 'runId'>): Promise<void> {
  const wasStated = sql`connections.exports_accepted > roster.exports_before and not roster.export_is_silent`
  await sql`
    update roster set export_is_silent = true, absences = coalesce(entry.absences, roster.absences),
      as_of = case when ${wasStated} then greatest(roster.as_of, connections.accepted_as_of) else roster.as_of end,
      employment_as_of = case when ${wasStated} then greatest(roster.employment_as_of, connections.accepted_as_of)
        else roster.employment_as_of end,
      field_times = case when ${wasStated} and roster.as_of <= connections.accepted_as_of then null else roster.field_times end
    from connections, changes left join plan_entries entry on entry.run_id = changes.run_id and entry.identity_id = changes.identity_id
    where changes.run_id = ${id} and connections.name = ${connection}
      and roster.connection = ${connection} and roster.identity_id = changes.identity_id`.execute(tx)
}

/** Leaves in the plan what it states of the employment of people of whom only other values wait. */
async function keepEmployment(tx: Db, { id, runId, connection }: MovedInput): Promise<void> {
  await sql`
    insert into plan_entries (run_id, identity_id, desired, inferred, deferred_to, cleared_date, deferred_zone, due_at, held_departure,
      is_by_operator, as_of, employment_as_of, export_is_silent, field_times, absences, group_value)
    select ${runId}, entry.identity_id,
      roster.desired || jsonb_build_object('separatedAt', coalesce(entry.desired -> 'separatedAt', 'null')), entry.inferred, entry.deferred_to, entry.cleared_date, entry.deferred_zone,
      entry.due_at, entry.held_departure, entry.is_by_operator, roster.as_of,
      greatest(roster.employment_as_of, entry.employment_as_of), true, roster.field_times, entry.absences, roster.group_value
    from changes join plan_entries entry on entry.run_id = changes.run_id and entry.identity_id = changes.identity_id
      join roster on roster.connection = ${connection} and roster.identity_id = changes.identity_id
    where changes.run_id = ${id} and changes.kind = 'update'`.execute(tx)
}

type LeftOutCounts = {
  readonly runId: string
  readonly heldId: string
  /** How many of the people who wait each limit counts. */
  readonly people: PeopleCounts
}

/** Records the counts and digests of a plan and of the people who were moved out of it. Its limits count none of them. */
export async function recordLeftOutCounts(tx: Db, { runId, heldId, people }: LeftOutCounts): Promise<void> {
  const run = await tx
    .selectFrom('runs')
    .select(['counts', 'people_counts'])
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  const others = { unchanged: 0, rejected: 0, incomplete: 0 }
  const kinds = { ...others, ...run.counts, ...(await kindCounts(tx, runId)) }
  await recordCounts(tx, runId, { counts: kinds, people: run.people_counts ?? noPeople })
  await recordCounts(tx, heldId, { counts: { ...others, ...(await kindCounts(tx, heldId)) }, people })
}
