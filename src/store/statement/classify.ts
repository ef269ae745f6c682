import { type RawBuilder, sql } from 'kysely'
import { accountedDetails, type PlatformPart, type StatedPart } from '../../contract/control/statements.ts'
import { forgottenKey } from './key-digest.ts'

/** What decides each person's part. */
export type Classification = {
  readonly connection: string
  /** The as-of time of the newest accepted snapshot; null: none was accepted. */
  readonly acceptedAsOf: Date | null
  /** The number of accepted snapshots by which absent people are separated; null: an absence means nothing. */
  readonly exportsAccepted: number | null
  /** A run of the connection that plans whatever differs is about to start. */
  readonly hasNextRun: boolean
  /** Such a run also serves the days that have come. */
  readonly hasNextDueRun: boolean
  /** What blocks the run that delivers, if one that plans whatever differs waits behind it; null: neither is so. */
  readonly nextRunBlock: string | null
  /** The same for a run that also serves the days that have come. */
  readonly nextDueRunBlock: string | null
  /** Leavers are removed from the platform. */
  readonly removes: boolean
  readonly now: Date
}

/**
 * In SQL, everybody whom HR states or whom the platform has, with the one part that each of them is in: the columns of `accounted_people`.
 * The parts follow from rows of the store alone. Nothing here is shared with planning, so that a fault there shows here.
 */
export function classifiedPeople(input: Classification): RawBuilder<unknown> {
  const { connection } = input
  return sql`(
    with recursive ${smallTables(input)}
    select * from (
      select case when is_forgotten then ${forgottenKey({ connection, key: sql`key` })} else key end as identity_id, is_stated as stated, is_exported as exported, on_platform,
        case when is_stated then ${statedPart} else ${platformPart} end as part, ${detail} as detail
      from (${subjects(input)}) person
      where is_stated or on_platform is not null
      union all
      select identity_id, false, false, case when is_separated then 'left' else 'employed' end, ${part('foreign')}, null
      from foreign_people listed
      where connection = ${connection}
        and not exists (select from roster where connection = ${connection} and identity_id = listed.identity_id)
        and not exists (select from stated_keys where connection = ${connection} and identity_id = listed.identity_id)
    ) people)`
}

/** In SQL, the day before now: whatever was due before it is overdue, unless a run is about to start. */
function overdueSince(now: Date): RawBuilder<Date> {
  return sql<Date>`${new Date(now.getTime() - 24 * 3_600_000)}::timestamptz`
}

/** In SQL, when the day comes for which a departure of a row of the roster waits. Without one, a due time only asks for a run. */
function waitsFor(column: (name: string) => RawBuilder<unknown>): RawBuilder<unknown> {
  const day = sql`coalesce((${column('held_departure')}) ->> 'until', ${column('deferred_to')})`
  return sql`case when ${day} is not null then coalesce(${column('due_at')}, ${day}::date::timestamp at time zone 'UTC') end`
}

/**
 * In SQL, whether the newest accepted export decided about the person's employment, as the roster has it. If the export does not have the
 * person, the absence was lost.
 */
function isSpokenOf(
  column: (name: string) => RawBuilder<unknown>,
  exportsAccepted: number | null,
): RawBuilder<boolean> {
  return sql<boolean>`(not ${column('export_is_silent')} and ${column('exports_before')} < ${exportsAccepted ?? 0}::int)`
}

/** In SQL, the tables that name few people: keys with an alias, and whatever is stored about a person beside the roster. */
function smallTables({ connection, now }: Classification): RawBuilder<unknown> {
  const isHeld = sql`runs.connection = ${connection} and runs.state = 'held'`
  return sql`
    key_names as (
      select identity_id as key, former, 1 as depth from key_answers where connection = ${connection} and same
      union all
      select named.key, answer.former, depth + 1 from key_names named
        join key_answers answer on answer.connection = ${connection} and answer.identity_id = named.former and answer.same
      where depth < 100
    ), first_keys as materialized (
      select distinct on (key) key, former from key_names order by key, depth desc
    ), aliased as materialized (
      select first_keys.key as alias, roster.* from first_keys
        join roster on roster.connection = ${connection} and roster.identity_id = first_keys.former
    ), alias_formers as materialized (
      select distinct former from first_keys
        join stated_keys on stated_keys.connection = ${connection} and stated_keys.identity_id = first_keys.key
    ), reverted as materialized (
      select distinct changes.identity_id from changes join runs on runs.id = changes.run_id
      where runs.connection = ${connection} and runs.feed = 'revert'
        and (runs.state in ('unchanged', 'finished', 'finished_with_problems') or exists (select from deliveries where deliveries.run_id = runs.id))
        and runs.created_at >= coalesce((
          select runs.created_at from stated_exports join runs on runs.id = stated_exports.run_id
          where stated_exports.connection = ${connection}), '-infinity')
    ), noted (identity_id, pending, confirmed, held_run, has_held_change, problem, sent_by, cancelled, fault, waits_until,
        leaves_later, held_back, foreign_as, row_overdue) as (
      select identity_id, true, confirmed, null, false, null, null, null, null, null, false, null, null, false
      from out_of_sync where connection = ${connection}
      union all
      select identity_id, false, null, runs.id::text, true, null, null, null, null, null, false, null, null, false
      from changes join runs on runs.id = changes.run_id where ${isHeld}
      union all
      select identity_id, false, null, runs.id::text, false, null, null, null, null, null, false, null, null, false
      from plan_entries join runs on runs.id = plan_entries.run_id where ${isHeld}
      union all
      select identity_id, false, null, runs.id::text, false, null, null, null, null, null, false, null, null, false
      from waiting_rows join runs on runs.id = waiting_rows.run_id where ${isHeld}
      union all
      select identity_id, false, null, null, false, coalesce(status::text, kind), null, null, null, null, false, null, null, false
      from problems where connection = ${connection}
      union all
      select identity_id, false, null, null, false, null, runs.id::text, null, null, null, false, null, null, false
      from changes join runs on runs.id = changes.run_id join deliveries using (run_id, batch)
      where runs.connection = ${connection} and runs.state = 'delivering' and changes.state = 'due' and deliveries.state = 'due'
      union all
      select out_of_sync.identity_id, false, null, null, false, null, null, runs.id::text, null, null, false, null, null, false
      from out_of_sync join changes on changes.identity_id = out_of_sync.identity_id and changes.state = 'dropped'
        join runs on runs.id = changes.run_id and runs.connection = ${connection} and runs.state = 'cancelled'
      where out_of_sync.connection = ${connection} and not exists (
        select from runs later where later.connection = ${connection} and later.started_at >= runs.finished_at
          and later.state in ('unchanged', 'finished', 'finished_with_problems') and ${sendsEverybody(sql.ref('later.feed'))})
      union all
      select identity_id, false, null, null, false, null, null, null, 'line ' || line, null, false, null, null, false
      from known_faults where connection = ${connection} and identity_id is not null and accepted_times > 0
        and (not cell_only or is_blocking and (may_leave or not exists (
          select from roster where connection = ${connection} and identity_id = known_faults.identity_id and desired is not null)))
      union all
      select identity_id, false, null, null, false, null, null, null, null, to_char(effective_on, 'YYYY-MM-DD'),
        (observation ->> 'statesDeparture' = 'true' or observation ->> 'leavingDate' is not null), null, null, due_at <= ${overdueSince(now)}
      from waiting_rows where connection = ${connection} and run_id is null
      union all
      select identity_id, false, null, null, false, null, null, null, null, null, false, until, null, false
      from hold_backs where connection = ${connection}
      union all
      select identity_id, false, null, null, false, null, null, null, null, null, false, null,
        case when is_separated then 'left' else 'employed' end, false
      from foreign_people where connection = ${connection}
    ), notes as materialized (
      select identity_id, bool_or(pending) as is_pending, (array_agg(confirmed) filter (where pending))[1] as confirmed,
        max(held_run) as held_run, bool_or(has_held_change) as has_held_change, max(problem) as problem, max(sent_by) as sent_by,
        max(cancelled) as cancelled, min(fault) as fault, min(waits_until) as waits_until, bool_or(leaves_later) as leaves_later,
        max(held_back) as held_back, max(foreign_as) as foreign_as,
        bool_or(row_overdue) as is_row_overdue
      from noted group by identity_id
    ), departures as materialized (${openDepartures({ connection, now })}
    )`
}

/**
 * In SQL, the departures that operators have stated, changed or withdrawn, and that no accepted plan has as they are now. `leaving_date`: null
 * if it was withdrawn.
 */
function openDepartures({ connection, now }: Pick<Classification, 'connection' | 'now'>): RawBuilder<unknown> {
  const hasLeft = sql`coalesce(desired ->> 'separatedAt' collate "C" <= ${now.toISOString()} or cleared_date >= leaving_date, false)`
  const isAccepted = sql`case when is_by_operator then left(desired ->> 'separatedAt', 10) = leaving_date else ${hasLeft} end`
  return sql`
      select identity_id, leaving_date, since <= ${now} as is_due, since <= ${overdueSince(now)} as is_overdue from (
        select stated.identity_id, leaving_date, case when is_by_operator then stated_at else stated.due_at end as since
        from stated_departures stated
          join roster on roster.connection = stated.connection and roster.identity_id = stated.identity_id
        where stated.connection = ${connection} and applies and not ${isAccepted}
        union all
        select identity_id, null, due_at from roster
        where connection = ${connection} and due_at is not null and is_by_operator and not inferred and not exists (
          select from stated_departures stated
          where stated.connection = roster.connection and stated.identity_id = roster.identity_id)) departure`
}

/**
 * In SQL, a row for each key that HR states and for each person of the roster. A key with an alias shows the state of the person whom it
 * names, who is on the platform under the first key only.
 */
function subjects({
  connection,
  acceptedAsOf,
  exportsAccepted,
  hasNextRun,
  hasNextDueRun,
  nextRunBlock,
  nextDueRunBlock,
  removes,
  now,
}: Classification): RawBuilder<unknown> {
  const own = sql`roster.identity_id is not null`
  const of = (column: string): RawBuilder<unknown> =>
    sql`case when aliased.alias is null then roster.${sql.ref(column)} else aliased.${sql.ref(column)} end`
  const isNewer = sql`(${acceptedAsOf}::timestamptz is null or date_trunc('milliseconds', roster.as_of) > ${acceptedAsOf})`
  const separatedAt = sql`(held.record ->> 'separatedAt')`
  const hasLeft = sql`coalesce(${separatedAt} collate "C" <= ${now.toISOString()}, false)`
  return sql`
    select key, is_stated, is_exported, is_forgotten, treatment, notes.*, departures.leaving_date, coalesce(departures.is_due, false) as is_departure_due, retracted_at, is_departure_held, is_by_operator, deferred_to, cleared_date, absences, desired, is_silent_about,
      is_spoken_of and not exists (select from reverted where reverted.identity_id = key) as is_absence_lost,
      not ${hasNextDueRun}::boolean
        and (coalesce(notes.is_row_overdue, false) or coalesce(is_day_overdue, false) or coalesce(departures.is_overdue, false)) as is_overdue,
      ${hasNextRun}::boolean as has_next_run, ${nextRunBlock}::text as next_run_block, ${nextDueRunBlock}::text as next_due_run_block, has_alias,
      desired ->> 'separatedAt' as separated_at,
      coalesce(desired ->> 'separatedAt' collate "C" > ${now.toISOString()}, false) as leaves_on_date, inferred,
      case when not is_own or held.record is null then of_key.foreign_as
        when not ${hasLeft} then 'employed'
        when ${removes}::boolean then null else 'left' end as on_platform
    from (
      select coalesce(exported.identity_id, roster.identity_id) as key,
        exported.identity_id is not null or (${own} and roster.desired is not null and roster.retracted_at is null and ${isNewer})
          as is_stated, exported.identity_id is not null as is_exported,
        exported.treatment, coalesce(aliased.identity_id, roster.identity_id, exported.identity_id) as subject, ${own} as is_own,
        ${of('desired')} as desired, ${of('retracted_at')} as retracted_at, ${of('held_departure')} is not null as is_departure_held, ${of('is_by_operator')} as is_by_operator,
        ${of('forgotten_at')} is not null as is_forgotten, ${of('deferred_to')} as deferred_to, ${of('cleared_date')} as cleared_date, ${of('absences')} as absences, ${of('inferred')} as inferred,
        ${waitsFor(of)} <= ${overdueSince(now)} as is_day_overdue, ${isSpokenOf(of, exportsAccepted)} as is_spoken_of,
        date_trunc('milliseconds', ${of('as_of')}) > ${acceptedAsOf} as is_silent_about,
        roster.desired as own_desired, alias_formers.former is not null as has_alias
      from (select identity_id, treatment from stated_keys where connection = ${connection}) exported
        full join (select * from roster where connection = ${connection}) roster on roster.identity_id = exported.identity_id
        left join aliased on aliased.alias = exported.identity_id
        left join alias_formers on alias_formers.former = roster.identity_id
    ) named
    left join notes on notes.identity_id = named.subject
    left join notes of_key on of_key.identity_id = named.key
    left join departures on departures.identity_id = named.subject
    left join lateral (select case when notes.is_pending then nullif(notes.confirmed, 'null'::jsonb) else own_desired end as record) held on true`
}

/** In SQL, whether the runs of a feed plan everybody who differs from the platform, and not only the people whom they are about. */
export function sendsEverybody(feed: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`${feed} in ('source', 'webhook', 'roster')`
}

function part(name: StatedPart | PlatformPart): RawBuilder<unknown> {
  return sql`${sql.lit(name)}`
}

/** In SQL, whether somebody waits in a held plan. */
const isHeld = sql`(has_held_change or (held_run is not null and is_overdue))`

const isExcluded = sql`(retracted_at is not null or (is_departure_held and not is_overdue))`

/** In SQL, the part of somebody whom the platform has otherwise than it was accepted. */
const pendingPart = sql`case when problem is not null then ${part('refused')}
  when sent_by is not null or has_next_run then ${part('onTheWay')}
  when cancelled is not null then ${part('excluded')}
  when next_run_block is not null then ${part('blocked')}
  else ${part('unaccounted')} end`

/** In SQL, the part of somebody whose day has come more than a day ago, and whom no run serves. */
const overduePart = sql`case when next_due_run_block is not null then ${part('blocked')} else ${part('unaccounted')} end`

/** In SQL, the part of somebody whose departure an operator has stated, changed or withdrawn, and no plan has accepted that. */
const departurePart = sql`case when is_overdue then ${overduePart} else ${part('onTheWay')} end`

const statedPart = sql`case
  when ${isExcluded} then ${part('excluded')}
  when ${isHeld} or (held_run is not null and desired is null) then ${part('held')}
  when desired is not null and is_pending then ${pendingPart}
  when is_departure_due then ${departurePart}
  when treatment = 'outOfScope' then ${part('outOfScope')}
  when treatment in ('notAPerson', 'ignored') then ${part('notAPerson')}
  when treatment = 'rejected' or (fault is not null and separated_at is null) then ${part('unreadable')}
  when desired is null and treatment = 'retracted' then ${part('excluded')}
  when is_overdue and (desired is not null or waits_until is not null) then ${overduePart}
  when desired is null then case when waits_until is not null then ${part('deferred')} else ${part('unaccounted')} end
  when is_by_operator and not inferred then ${part('excluded')}
  when absences > 0 and is_silent_about is not true then ${part('unaccounted')}
  when deferred_to is not null or leaves_on_date or leaving_date is not null or (leaves_later and separated_at is null) then ${part('deferred')}
  when separated_at is not null then ${part('left')}
  else ${part('employed')} end`

const platformPart = sql`case
  when has_alias then ${part('alias')}
  when desired is null then ${part('foreign')}
  when ${isExcluded} then ${part('excluded')}
  when ${isHeld} then ${part('held')}
  when is_pending then ${pendingPart}
  when is_departure_due then ${departurePart}
  when is_overdue then ${overduePart}
  when is_by_operator and not inferred then ${part('excluded')}
  when separated_at is not null then ${part('leftEarlier')}
  when absences = 0 and is_absence_lost then ${part('unaccounted')}
  else ${part('absent')} end`

/** In SQL, what an operator wants to know besides the part. */
const detail = sql`case
  when retracted_at is not null then 'retracted'
  when is_departure_held and (not is_overdue or next_due_run_block is null) then 'held back until ' || coalesce(held_back, '')
  when ${isHeld} or (held_run is not null and desired is null) then held_run
  when desired is not null and is_pending then coalesce(problem, sent_by, cancelled, case when not has_next_run then next_run_block end)
  when is_departure_due then concat_ws('; ', coalesce('stated as left on ' || leaving_date, 'no longer stated as left') || ', not sent',
    case when is_overdue then next_due_run_block end)
  when treatment <> 'retracted' then treatment
  when is_overdue and treatment is null and (fault is null or separated_at is not null) and next_due_run_block is not null then next_due_run_block
  when is_by_operator and not inferred then 'stated as left'
  when treatment is not null then treatment
  when fault is not null and separated_at is null then fault
  when desired is null then waits_until
  when leaving_date is not null then least(leaving_date, deferred_to)
  when deferred_to is not null then deferred_to
  when leaves_later and separated_at is null then waits_until
  when is_silent_about then ${sql.lit(accountedDetails.newer)}
  when separated_at is null and cleared_date is not null then ${sql.lit(accountedDetails.hiredAgain)}
  end`

/** Everything that the classification reads, as a digest, and how many keys the accepted export states. */
export type PopulationDigest = { readonly digest: string; readonly exported: number }

/**
 * In SQL, as `PopulationDigest`, a digest of everything that the classification reads. If it equals that of the last statement, the parts
 * are equal, too. Each table of everybody is read once, which is much faster than comparing them.
 */
export function populationDigest(input: Classification): RawBuilder<unknown> {
  const { connection, acceptedAsOf, exportsAccepted, hasNextRun, hasNextDueRun, nextRunBlock, nextDueRunBlock, now } =
    input
  const hasLeft = sql`(desired ->> 'separatedAt' collate "C" <= ${now.toISOString()})`
  // Added here, because the database would add it anew for each row.
  const newerFrom = acceptedAsOf && new Date(acceptedAsOf.getTime() + 1)
  const isNewer = sql`coalesce(as_of >= ${newerFrom}::timestamptz, true)`
  const isSpoken = isSpokenOf(sql.ref, exportsAccepted)
  const isPlain = sql`(desired is not null and retracted_at is null and held_departure is null and not is_by_operator and deferred_to is null
    and absences = 0 and forgotten_at is null and cleared_date is null and not ${isNewer})`
  const particulars = sql`concat_ws(' ', desired is null, retracted_at is null, held_departure is null, is_by_operator and not inferred, forgotten_at is null, deferred_to,
    absences, cleared_date is null, coalesce(${waitsFor(sql.ref)} <= ${overdueSince(now)}, false),
    ${isNewer}, ${hasLeft}, desired ->> 'separatedAt' is null, ${isSpoken})`
  const state = sql`case when ${isPlain} then case ${hasLeft} when true then 1 when false then 2 else 3 end + case when ${isSpoken} then 3 else 0 end
    else hashtextextended(${particulars}, 0) end`
  return sql`(
    with recursive ${smallTables(input)}, exported as materialized (
      select count(*)::int as keys, bit_xor(hashtextextended(identity_id, coalesce(hashtextextended(treatment, 0), 0))) as digest
      from stated_keys where connection = ${connection}
    )
    select exported.keys as exported, concat_ws(' ', ${hasNextRun}::boolean, ${hasNextDueRun}::boolean, ${nextRunBlock}::text is not null, ${nextDueRunBlock}::text, exported.keys, exported.digest,
      (select concat_ws(' ', count(*), bit_xor(hashtextextended(identity_id, ${state}))) from roster where connection = ${connection}),
      (select md5(string_agg(concat(notes, coalesce(confirmed ->> 'separatedAt' collate "C" <= ${now.toISOString()}, false)), E'\n' order by identity_id)) from notes),
      (select md5(string_agg(identity_id, E'\n' order by identity_id)) from reverted),
      (select md5(string_agg(departures::text, E'\n' order by identity_id)) from departures),
      (select md5(string_agg(first_keys::text, E'\n' order by key)) from first_keys)) as digest
    from exported)`
}
