/**
 * Records the times of departures in `leavers`: the end of the last day, and when a departure was stated, seen, accepted, sent and
 * acknowledged. A departure is open until it ends (`ended_at`).
 */
import { type RawBuilder, sql } from 'kysely'
import { oneByOne } from '../one-by-one.ts'
import type { Db } from '../schema.ts'

/** Time between the acknowledgement and the first check of the personnel. */
const firstCheckMs = 15 * 60_000
/** The latest leaving date that every database can store. */
const lastMoment = Date.parse('9999-12-31T00:00:00Z')

/** The run that states departures. */
type DepartureContext = {
  readonly runId: string
  readonly connection: string
  readonly timeZone: string
  readonly now: Date
}

type Batch = { readonly runId: string; readonly batch: number; readonly connection: string }

/** The outcome of one request. `step`: a correction whose request clears a date. */
type BatchOutcome = {
  readonly people: readonly { readonly identityId: string; readonly state: string; readonly step?: string }[]
  /** The keys of those who have a leaving date. */
  readonly leavers: readonly string[]
  readonly sentAt: Date
  readonly answeredAt: Date
}

/** Records the departures of a plan, also if it will be held. Call it in the transaction that completes the plan. */
export async function recordLeavers(tx: Db, context: DepartureContext): Promise<void> {
  await upsertDepartures(tx, context, { accepted: false })
}

/**
 * Records which departures an accepted plan states, and ends those that it withdraws. Call it in the transaction that accepts the plan,
 * before its entries are removed.
 */
export async function acceptLeavers(tx: Db, context: DepartureContext): Promise<void> {
  await endUndone(tx, context)
  await upsertDepartures(tx, context, { accepted: true })
  await endNeverAccepted(tx, context)
}

type Day = { readonly day: string; readonly zone: string | null }

/** In SQL, the leaving dates of a plan. A future date is in the entry of its person and in no change. */
function leavingDatesOf(runId: string): RawBuilder<unknown> {
  return sql`
    select distinct on (identity_id) * from (
      select identity_id, left(separated_at, 10) as day, null as zone, inferred, kind = 'join' as joined, origin ->> 'event' as event
      from changes
      where run_id = ${runId} and separated_at is not null and kind in ('join', 'leave', 'correct') and state = 'due'
      union all
      select identity_id, deferred_to, deferred_zone, false, false, null
      from plan_entries where run_id = ${runId} and deferred_to is not null and not is_by_operator
    ) both_kinds order by identity_id, zone nulls first`
}

async function upsertDepartures(
  tx: Db,
  { runId, connection, timeZone, now }: DepartureContext,
  { accepted }: { accepted: boolean },
): Promise<void> {
  const days = await sql<Day>`select distinct day, zone from (${leavingDatesOf(runId)}) stated`.execute(tx)
  if (days.rows.length === 0) return
  const ends = days.rows.map(({ day, zone }) => ({ day, zone, ends: endOfDay(day, zone ?? timeZone).toISOString() }))
  const changed = sql`leavers.effective_on <> excluded.effective_on`
  // If an operator states a day after HR announced another one, the delay is measured from the operator's statement: nobody knew this day
  // before.
  const isFirstByOperator = sql`excluded.stated_by is not null and leavers.stated_by is null`
  await sql`
    insert into leavers
      (connection, identity_id, run_id, effective_on, effective_at, inferred, joined_as_leaver, stated_at, stated_by, first_seen_at, accepted_at)
    select ${connection}, stated.identity_id, ${runId}, stated.day, ends.ends, stated.inferred, stated.joined,
      least(coalesce(by_operator.stated_at, entry.employment_as_of, entry.as_of, runs.as_of), seen.at), by_operator.stated_by, seen.at, ${accepted ? now : null}::timestamptz
    from (${leavingDatesOf(runId)}) stated
    join jsonb_to_recordset(${JSON.stringify(ends)}::jsonb) as ends(day text, zone text, ends timestamptz)
      on ends.day = stated.day and ends.zone is not distinct from stated.zone
    join runs on runs.id = ${runId}
    left join lateral (
      select as_of, employment_as_of, is_by_operator from plan_entries
      where run_id = ${runId} and identity_id = stated.identity_id ${oneByOne}) entry on true
    left join stated_departures by_operator on by_operator.connection = ${connection}
      and by_operator.identity_id = stated.identity_id and entry.is_by_operator
    left join inbox on inbox.id = stated.event::bigint
    cross join lateral (select least(inbox.received_at, ${now}::timestamptz) as at) seen
    on conflict (connection, identity_id) where ended_at is null do update set
      run_id = excluded.run_id, inferred = excluded.inferred, accepted_at = coalesce(leavers.accepted_at, excluded.accepted_at),
      previous_dates = case when ${changed} then leavers.previous_dates || jsonb_build_object(
        'on', leavers.effective_on, 'inferred', leavers.inferred, 'until', ${now.toISOString()}::text) else leavers.previous_dates end,
      stated_at = case when ${isFirstByOperator} then excluded.stated_at else leavers.stated_at end,
      first_seen_at = case when ${isFirstByOperator} then excluded.stated_at else leavers.first_seen_at end,
      stated_by = coalesce(leavers.stated_by, excluded.stated_by),
      effective_at = case when ${changed} then excluded.effective_at else leavers.effective_at end,
      effective_on = excluded.effective_on
    where ${accepted}::boolean or leavers.accepted_at is null`.execute(tx)
}

/** The end of a last day of employment. */
function endOfDay(day: string, zone: string): Date {
  const ends = Temporal.PlainDate.from(day).add({ days: 1 }).toZonedDateTime(zone).epochMilliseconds
  return new Date(Math.min(ends, lastMoment))
}

/**
 * Ends the departures that the plan undoes: the person returned, the date was withdrawn before it was sent, or the person was
 * retracted. If an acknowledged leaver now leaves on a later day, the person is back until then, and the later departure has a row of its own.
 * A departure of a plan that was not accepted is withdrawn only by a fact about employment that is newer than that plan.
 */
async function endUndone(tx: Db, { runId, connection, now }: DepartureContext): Promise<void> {
  // Skips the whole query if every open departure is of this run, as in a first run.
  const hasOpenOfOtherRuns = sql`exists (
    select 1 from leavers where connection = ${connection} and ended_at is null and run_id <> ${runId} ${oneByOne})`
  const statedAt = sql`(
    select coalesce(start_entry.employment_as_of, start_entry.as_of, runs.as_of)
    from runs left join plan_entries start_entry on start_entry.run_id = runs.id and start_entry.identity_id = entry.identity_id
    where runs.id = open.run_id)`
  await sql`
    update leavers set ended_at = ${now}, check_at = null,
      ended_as = case when acknowledged_at is null and sent_at is null then 'withdrawn' else 'returned' end
    where id in (
      select open.id
      from (
        select identity_id, deferred_to, coalesce(employment_as_of, as_of) as at from plan_entries
        where run_id = ${runId} and desired is not null and desired ->> 'separatedAt' is null
        union all
        select identity_id, null, runs.as_of from changes join runs on runs.id = run_id
        where run_id = ${runId} and is_entry and separated_at is null
      ) entry cross join lateral (
        select id, run_id, acknowledged_at, accepted_at from leavers
        where connection = ${connection} and identity_id = entry.identity_id and ended_at is null ${oneByOne}) open
      where ${hasOpenOfOtherRuns} and (entry.deferred_to is null or open.acknowledged_at is not null)
        and (open.accepted_at is not null or entry.at > coalesce(${statedAt}, '-infinity')))`.execute(tx)
  await sql`
    update leavers set ended_at = ${now}, check_at = null, ended_as = 'retracted'
    from changes
    where leavers.connection = ${connection} and leavers.ended_at is null
      and changes.run_id = ${runId} and changes.kind = 'retract' and changes.identity_id = leavers.identity_id`.execute(
    tx,
  )
}

/**
 * Ends the departures that no accepted plan states, if an accepted snapshot does not state them either. People with an unreadable row
 * are left out, because the row may still state it.
 */
async function endNeverAccepted(tx: Db, { runId, connection, now }: DepartureContext): Promise<void> {
  await sql`
    update leavers set ended_at = ${now}, check_at = null, ended_as = 'withdrawn'
    from runs ours
    where ours.id = ${runId} and ours.mode = 'snapshot' and leavers.connection = ${connection}
      and leavers.accepted_at is null and leavers.ended_at is null
      and not exists (
        select 1 from runs start_run where start_run.id = leavers.run_id and start_run.state in ('reading', 'planned', 'held', 'delivering'))
      and not exists (
        select 1 from known_faults fault
        where fault.connection = leavers.connection and fault.identity_id = leavers.identity_id and fault.may_leave)`.execute(
    tx,
  )
}

/**
 * Acknowledges departures that a verification found on the platform. Call it in the transaction that accepts a plan, after its changes
 * became due.
 */
export async function acknowledgeVerifiedLeavers(
  tx: Db,
  { runId, connection, now }: Omit<DepartureContext, 'timeZone'>,
): Promise<void> {
  await sql`
    update leavers set acknowledged_at = ${now}, check_at = ${firstCheck(now)}
    from roster
    where leavers.connection = ${connection} and leavers.run_id <> ${runId} and leavers.accepted_at is not null
      and leavers.acknowledged_at is null and leavers.ended_at is null
      and roster.connection = leavers.connection and roster.identity_id = leavers.identity_id
      and roster.retracted_at is null and roster.desired ->> 'separatedAt' is not null
      and not exists (
        select 1 from out_of_sync
        where out_of_sync.connection = leavers.connection and out_of_sync.identity_id = leavers.identity_id)`.execute(
    tx,
  )
}

/** Records which departures were sent, and which of them the platform acknowledged. */
export async function recordLeaverOutcomes(
  tx: Db,
  { runId, connection }: Batch,
  { people, sentAt, answeredAt }: BatchOutcome,
): Promise<void> {
  // A request that clears a date sends no departure, nor does a change without a leaving date.
  const sent = people.filter(({ step }) => step === undefined).map(({ identityId, state }) => ({ identityId, state }))
  await sql`
    update leavers set sent_at = coalesce(leavers.sent_at, ${sentAt}),
      acknowledged_at = case when sent.state = 'confirmed' then ${answeredAt}::timestamptz end,
      check_at = case when sent.state = 'confirmed' then ${firstCheck(answeredAt)} end
    from jsonb_to_recordset(${JSON.stringify(sent)}::jsonb) as sent("identityId" text, state text), changes
    where leavers.connection = ${connection} and leavers.run_id = ${runId} and leavers.identity_id = sent."identityId"
      and changes.run_id = leavers.run_id and changes.identity_id = leavers.identity_id and changes.separated_at is not null
      and leavers.acknowledged_at is null and leavers.ended_at is null`.execute(tx)
}

/** The statement that records the departures of a batch whose people all got the same answer. Callers may append conditions. */
export function updateLeaversOfBatch(
  { runId, connection }: Batch,
  { leavers, sentAt, answeredAt }: BatchOutcome,
): RawBuilder<unknown> {
  return sql`
    update leavers set sent_at = coalesce(leavers.sent_at, ${sentAt}), acknowledged_at = ${answeredAt},
      check_at = ${firstCheck(answeredAt)}
    where leavers.connection = ${connection} and leavers.run_id = ${runId} and acknowledged_at is null and ended_at is null
      and leavers.identity_id = any(${leavers})`
}

/** In SQL, the time of the first check: not before the last day is over. */
function firstCheck(acknowledgedAt: Date): RawBuilder<Date> {
  return sql<Date>`greatest(leavers.effective_at, ${new Date(acknowledgedAt.getTime() + firstCheckMs)}::timestamptz)`
}
