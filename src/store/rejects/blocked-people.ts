import { type RawBuilder, sql } from 'kysely'
import type { BlockedPerson as ShownBlockedPerson } from '../../contract/control/shapes.ts'
import type { BlockedPeopleCounts, Db } from '../schema.ts'

/** A blocked person as in the control API, without the name and the age. */
export type BlockedPerson = Omit<ShownBlockedPerson, 'name' | 'ageSeconds'>

/** The cursor after which a page begins. The order: by connection, possible leavers first, then by key. */
export type BlockedPersonCursor = Pick<BlockedPerson, 'connection' | 'identityId'> & {
  readonly mayLeave: boolean
  readonly fingerprint: string
}

/** The counts of a connection without blocked people. */
export const noBlockedPeople: BlockedPeopleCounts = { people: 0, leavers: 0, rows: 0 }

/**
 * In SQL, the faults and holds that block people, as `fault`. Retracted people are left out. If the day of a leaving date comes while its
 * plan is held, the plan has no change for that person, so only this list names them. Departures that an operator holds back are included.
 */
export function selectBlockedPeople(now: Date): RawBuilder<unknown> {
  return sql`
    (
      select connection, identity_id, may_leave, cell_only, column_name, reason, source, line, times, run_id, accepted_times, first_at,
        last_at, fingerprint, field
      from known_faults where is_blocking
      union all
      select runs.connection, entry.identity_id, true, true, null,
        'the leaving date ' || entry.deferred_to || ' has come, and the plan that states it is held', null, null, 1, runs.id, 0, entry.due_at,
        runs.created_at, 'held ' || runs.id, null
      from runs join plan_entries entry on entry.run_id = runs.id
      where runs.state = 'held' and entry.due_at <= ${now}
      union all
      select runs.connection, later.identity_id, true, true, null,
        'a row about leaving takes effect on ' || later.effective_on || ', and the plan that states it is held', null, null, 1, runs.id, 0,
        later.due_at, runs.created_at, 'held row ' || later.seq, null
      from runs join waiting_rows later on later.run_id = runs.id
      where runs.state = 'held' and later.due_at <= ${now}
        and (later.observation ->> 'statesDeparture' = 'true' or later.observation ->> 'leavingDate' is not null)
      union all
      select held.connection, held.identity_id, true, true, null,
        'left on ' || left(held.held_departure ->> 'separatedAt', 10) || ', which is held back until ' || (held.held_departure ->> 'until'),
        null, null, 1, newest.id, 1, hold_backs.held_at, held.as_of, 'held back', null
      from hold_backs join roster held on held.connection = hold_backs.connection and held.identity_id = hold_backs.identity_id
        cross join lateral (select id from runs where runs.connection = held.connection order by created_at desc, id limit 1) newest
      where held.held_departure is not null
    ) fault
    left join roster on roster.connection = fault.connection and roster.identity_id = fault.identity_id
    where roster.retracted_at is null`
}

/** In SQL, whether the person of `fault` may have left, and is not desired as separated by then. */
export function isPossibleLeaver(now: Date): RawBuilder<boolean> {
  return sql<boolean>`(fault.may_leave
    and coalesce(roster.desired ->> 'separatedAt', 'none') collate "C" > ${now.toISOString()})`
}

/** How many people are blocked, by connection; connections without any are left out. */
export async function countBlockedPeople(
  db: Db,
  { connection, now }: { connection?: string; now: Date },
): Promise<Map<string, BlockedPeopleCounts>> {
  const { rows } = await sql<BlockedPeopleCounts & { connection: string }>`
    select fault.connection, count(distinct fault.identity_id)::int as people,
      (count(distinct fault.identity_id) filter (where ${isPossibleLeaver(now)}))::int as leavers,
      coalesce(sum(times) filter (where fault.identity_id is null), 0)::int as rows
    from ${selectBlockedPeople(now)} and ${isOfConnection(connection)}
    group by fault.connection`.execute(db)
  return new Map(rows.map(({ connection: name, ...tally }) => [name, tally]))
}

type BlockedPeopleFilter = {
  readonly now: Date
  readonly connection?: string
  readonly identityId?: string
  readonly after?: BlockedPersonCursor
  readonly limit?: number
}

/** The people who are blocked, a row for each reason, and the rows whose person is unknown. */
export async function listBlockedPeople(
  db: Db,
  { now, connection, identityId, after, limit }: BlockedPeopleFilter,
): Promise<(BlockedPerson & { readonly cursor: BlockedPersonCursor })[]> {
  const { rows } = await sql<Row>`
    select fault.connection, fault.identity_id as "identityId", ${isPossibleLeaver(now)} as leaver, cell_only as "cellOnly",
      column_name as "column", reason, source, line, times as rows, run_id as "runId", accepted_times > 0 as accepted,
      coalesce(field = 'employment', false) as contradicts, first_at as "firstAt", last_at as "lastAt", may_leave as "mayLeave", fingerprint
    from ${selectBlockedPeople(now)} and ${isOfConnection(connection)} and ${identityId === undefined ? sql`true` : sql`fault.identity_id = ${identityId}`}
      and ${after === undefined ? sql`true` : sql`(${order}) > (${cursorValues(after)})`}
    order by ${order} limit ${limit ?? null}`.execute(db)
  return rows.map(({ firstAt, lastAt, mayLeave, fingerprint, contradicts, ...row }) => ({
    ...row,
    ...(contradicts && { contradicts }),
    firstAt: firstAt.toISOString(),
    lastAt: lastAt.toISOString(),
    cursor: { connection: row.connection, identityId: row.identityId, mayLeave, fingerprint },
  }))
}

type Row = Omit<BlockedPerson, 'firstAt' | 'lastAt' | 'contradicts'> &
  Pick<BlockedPersonCursor, 'mayLeave' | 'fingerprint'> & {
    readonly contradicts: boolean
    readonly firstAt: Date
    readonly lastAt: Date
  }

const order = sql`fault.connection collate "C", not may_leave, coalesce(fault.identity_id, ''), fingerprint collate "C"`

function cursorValues({ connection, mayLeave, identityId, fingerprint }: BlockedPersonCursor): RawBuilder<unknown> {
  return sql`${connection}, ${!mayLeave}::boolean, ${identityId ?? ''}, ${fingerprint}`
}

function isOfConnection(connection: string | undefined): RawBuilder<boolean> {
  return connection === undefined ? sql<boolean>`true` : sql<boolean>`fault.connection = ${connection}`
}
