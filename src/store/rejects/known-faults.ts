import { type RawBuilder, sql } from 'kysely'
import type { KnownFault } from '../../identity/decide/faults.ts'
import { type KnownFaults, noKnownFaults, valueName } from '../../identity/guards/facts.ts'
import type { UnlistedValue } from '../../identity/record.ts'
import type { RunOfConnection } from '../keys.ts'
import { removedReason } from '../removed-reason.ts'
import type { Db } from '../schema.ts'
import { countBlockedPeople, noBlockedPeople } from './blocked-people.ts'

/** Maximum number of faults per statement. */
const written = 5000

/** What was accepted before, so that guards do not judge it again. Accepted values apply to every feed. */
export async function knownFaults(
  db: Db,
  { connection, feed }: { connection: string; feed: string },
): Promise<KnownFaults> {
  const values = await db
    .selectFrom('unlisted_values')
    .select(['field', 'value'])
    .where('connection', '=', connection)
    .execute()
  const named = new Set(values.map(({ field, value }) => valueName({ field: field as UnlistedValue['field'], value })))
  if (feed !== 'source') return { ...noKnownFaults, values: named }
  const rejects = await db
    .selectFrom('known_faults')
    .select(['fingerprint', 'accepted_times'])
    .where('connection', '=', connection)
    .where('accepted_times', '>', 0)
    .execute()
  return { rejects: new Map(rejects.map((row) => [row.fingerprint, row.accepted_times])), values: named }
}

type FaultComparison = RunOfConnection & {
  readonly approved: string
  readonly kept: number
}

/**
 * Whether a run found a fault, or more of it, than the `approved` run and every accepted export. Also true if not all faults were stored.
 */
export async function hasNewFaults(db: Db, { connection, runId, approved, kept }: FaultComparison): Promise<boolean> {
  const { rows } = await sql<{ is_new: boolean }>`
    with current as (
      select fingerprint, count(*) as times from rejects
      where run_id = ${runId} and not exists (
        select 1 from unlisted_values known
        where known.connection = ${connection} and known.field = unlisted ->> 'field'
          and lower(known.value) = lower(unlisted ->> 'value'))
      group by fingerprint
    ), seen as (select fingerprint, count(*) as times from rejects where run_id = ${approved} group by fingerprint)
    select (select count(*) from rejects where run_id = ${runId}) >= ${kept} or exists (
      select 1 from current left join seen using (fingerprint)
        left join known_faults accepted on accepted.connection = ${connection} and accepted.fingerprint = current.fingerprint
      where current.times > greatest(seen.times, accepted.accepted_times, 0)) as is_new`.execute(db)
  return rows[0]?.is_new ?? true
}

/** In SQL, whether a fault hides or blocks what it did not when it was mailed to HR. */
const isWorse = sql`(excluded.may_leave and not known_faults.may_leave) or (excluded.is_blocking and not known_faults.is_blocking)`

type RecordedFaults = {
  readonly runId: string
  readonly connection: string
  /** The name of the source. */
  readonly source: string | null
  readonly rejects: readonly KnownFault[]
  readonly now: Date
}

/** Records the faults of an export, whether or not its plan will be accepted. Faults that only an older plan had are removed. */
export async function recordFaults(tx: Db, { runId, connection, source, rejects, now }: RecordedFaults): Promise<void> {
  // HR may export the cells of a forgotten person for years.
  const isForgotten = sql`exists (
    select 1 from roster where roster.connection = ${connection} and roster.identity_id = r."identityId" and forgotten_at is not null)`
  for (let start = 0; start < rejects.length; start += written) {
    await sql`
      insert into known_faults (connection, fingerprint, identity_id, line, column_name, field, reason, source, cell_only, may_leave,
        unlisted, cause, expected, cell, times, is_blocking, run_id, first_at, last_at)
      select ${connection}, fingerprint, "identityId", line, "column", field, case when ${isForgotten} then ${removedReason} else reason end, ${source}, "cellOnly", "mayLeave",
        unlisted, cause, expected, case when not ${isForgotten} then cell end, times, "isBlocking", ${runId}, ${now}, ${now}
      from jsonb_to_recordset(${JSON.stringify(rejects.slice(start, start + written))}::jsonb)
        as r(fingerprint text, "identityId" text, line integer, "column" text, field text, reason text, "cellOnly" boolean, "mayLeave" boolean,
          unlisted jsonb, cause text, expected text, cell text, times integer, "isBlocking" boolean)
      on conflict (connection, fingerprint) do update set
        line = excluded.line, reason = excluded.reason, cause = excluded.cause, expected = excluded.expected, cell = excluded.cell, source = excluded.source, may_leave = excluded.may_leave, times = excluded.times,
        is_blocking = excluded.is_blocking, run_id = excluded.run_id, last_at = excluded.last_at,
        mailed_at = case when ${isWorse} then null else known_faults.mailed_at end`.execute(tx)
  }
  await tx
    .deleteFrom('known_faults')
    .where('connection', '=', connection)
    .where('accepted_times', '=', 0)
    .where('run_id', '<>', runId)
    .execute()
  await recordBlockedPeople(tx, { runId, connection, now })
}

/** Removes the faults that only a dropped plan had. */
export async function dropFaults(tx: Db, runId: string): Promise<void> {
  await tx.deleteFrom('known_faults').where('run_id', '=', runId).where('accepted_times', '=', 0).execute()
}

type AcceptedFaults = RunOfConnection & {
  readonly entries: RawBuilder<unknown>
  readonly now: Date
}

/**
 * Accepts the faults of a plan. A snapshot covers everybody, so all other faults have passed. A delta, or a snapshot older than the
 * newest accepted one, covers its own people: a fault of a field passes if the plan states that field, and a fault about employment if it
 * states employment. Call it before the people of the plan become the roster. `entries`: in SQL, the roster entries of the plan.
 */
export async function acceptFaults(tx: Db, { runId, connection, entries, now }: AcceptedFaults): Promise<void> {
  const run = await tx
    .selectFrom('runs')
    .innerJoin('connections', 'connections.name', 'runs.connection')
    .select([
      'runs.feed',
      'runs.mode',
      'runs.as_of',
      'runs.blocked_people',
      sql<boolean>`coalesce(accepted_as_of > runs.as_of, false)`.as('stale'),
    ])
    .where('runs.id', '=', runId)
    .executeTakeFirst()
  // What was approved for one person does not apply to the next export.
  if (run?.feed === 'person') return
  // Set where the plan was made, if it says what is wrong with its source.
  if (run?.blocked_people) {
    await sql`
      update known_faults set accepted_times = times where connection = ${connection} and run_id = ${runId}`.execute(tx)
    const passed =
      run.mode === 'snapshot' && !run.stale
        ? sql`true`
        : sql`identity_id is null or exists (
            select 1 from ${entries} entry
            where entry.identity_id = known_faults.identity_id
              and (not (may_leave or coalesce(field, '') = 'employment') or entry.employment_as_of = entry.as_of)
              and (coalesce(field, 'employment') = 'employment' or (entry.desired ? field
                and date_trunc('milliseconds', coalesce((entry.field_times ->> field)::timestamptz, entry.as_of)) = ${run.as_of})))`
    await sql`
      delete from known_faults where connection = ${connection} and run_id <> ${runId} and (${passed})`.execute(tx)
  }
  await sql`
    insert into unlisted_values (connection, field, value, first_at)
    select ${connection}, unlisted ->> 'field', unlisted ->> 'value', ${now}
    from (
      select unlisted from rejects where run_id = ${runId}
      union select unlisted from known_faults where connection = ${connection} and run_id = ${runId}) unlisted_ones
    where unlisted is not null
    on conflict do nothing`.execute(tx)
}

type RunAt = RunOfConnection & {
  readonly now: Date
}

/** Stores with a run how many people are blocked: when its plan is made, and again when its people become the roster. */
export async function recordBlockedPeople(tx: Db, { runId, connection, now }: RunAt): Promise<void> {
  const tally = (await countBlockedPeople(tx, { connection, now })).get(connection) ?? noBlockedPeople
  await tx
    .updateTable('runs')
    .set({ blocked_people: JSON.stringify(tally) })
    .where('id', '=', runId)
    .execute()
}
