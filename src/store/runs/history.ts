import { sql } from 'kysely'
import type { ChangeKind } from '../../identity/change.ts'
import type { Db, RosterCounts } from '../schema.ts'

/** What was accepted on one day. */
type AcceptedDay = {
  readonly day: string
  readonly runs: number
  readonly changes: { readonly [K in ChangeKind]: number }
}

type Period = { readonly connection: string; readonly timeZone: string; readonly since: Date }

/** The new changes of accepted runs of a connection, by day of acceptance. A run that was cancelled during delivery had been accepted. */
export async function acceptedByDay(db: Db, { connection, timeZone, since }: Period): Promise<AcceptedDay[]> {
  const countNew = (limit: string, kind: ChangeKind) =>
    sql`sum(coalesce((people_counts ->> ${limit})::int, (counts ->> ${kind})::int, 0))::int`
  // The guards count joiners who have already left among the leavers. They are not departures.
  const departures = sql`sum(coalesce((people_counts ->> 'leavers')::int - coalesce((people_counts ->> 'leftJoiners')::int, 0),
    (counts ->> 'leave')::int, 0))::int`
  const all = (kind: ChangeKind) => sql`sum(coalesce((counts ->> ${kind})::int, 0))::int`
  const { rows } = await sql<AcceptedDay>`
    select to_char(coalesce(decided_at, started_at, created_at) at time zone ${timeZone}, 'YYYY-MM-DD') as day, count(*)::int as runs,
      json_build_object('join', ${countNew('joiners', 'join')}, 'update', ${all('update')}, 'leave', ${departures},
        'return', ${countNew('returns', 'return')}, 'correct', ${countNew('redates', 'correct')}, 'retract', ${all('retract')}) as changes
    from runs
    where connection = ${connection} and created_at >= ${since} and counts is not null
      and (state in ('delivering', 'finished', 'finished_with_problems', 'unchanged')
        or state = 'cancelled' and exists (select 1 from deliveries where run_id = runs.id))
    group by 1 order by 1`.execute(db)
  return rows
}

/** The number of people when the first plan of each day was made. */
export async function knownAtFirstPlans(
  db: Db,
  { connection, timeZone, since }: Period,
): Promise<(RosterCounts & { readonly day: string })[]> {
  const { rows } = await sql<RosterCounts & { day: string }>`
    select distinct on (day) day, (known_people ->> 'people')::int as people, (known_people ->> 'separated')::int as separated
    from (
      select to_char(started_at at time zone ${timeZone}, 'YYYY-MM-DD') as day, started_at, known_people from runs
      where connection = ${connection} and created_at >= ${since} and known_people is not null) as planned
    order by day, started_at`.execute(db)
  return rows
}
