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

const countNew = (limit: string, kind: ChangeKind) =>
  sql`coalesce((people_counts ->> ${sql.lit(limit)})::int, (counts ->> ${sql.lit(kind)})::int, 0)`
const countAll = (kind: ChangeKind) => sql`coalesce((counts ->> ${sql.lit(kind)})::int, 0)`

/** In SQL, how many people of a run are new among the changes of each kind. */
export const newChanges = {
  join: countNew('joiners', 'join'),
  update: countAll('update'),
  // The guards count joiners who have already left among the leavers. They are not departures.
  leave: sql`coalesce((people_counts ->> 'leavers')::int - coalesce((people_counts ->> 'leftJoiners')::int, 0),
    (counts ->> 'leave')::int, 0)`,
  back: countNew('returns', 'return'),
  correct: countNew('redates', 'correct'),
  retract: countAll('retract'),
}

/** In SQL, whether the changes of a run were accepted. A run that was cancelled during delivery had been accepted. */
export const isAccepted = sql<boolean>`(counts is not null
  and (state in ('delivering', 'finished', 'finished_with_problems', 'unchanged')
    or state = 'cancelled' and exists (select 1 from deliveries where run_id = runs.id)))`

/** The new changes of accepted runs of a connection, by day of acceptance. */
export async function acceptedByDay(db: Db, { connection, timeZone, since }: Period): Promise<AcceptedDay[]> {
  const { join, update, leave, back, correct, retract } = newChanges
  const { rows } = await sql<AcceptedDay>`
    select to_char(coalesce(decided_at, started_at, created_at) at time zone ${timeZone}, 'YYYY-MM-DD') as day, count(*)::int as runs,
      json_build_object('join', sum(${join})::int, 'update', sum(${update})::int, 'leave', sum(${leave})::int,
        'return', sum(${back})::int, 'correct', sum(${correct})::int, 'retract', sum(${retract})::int) as changes
    from runs
    where connection = ${connection} and created_at >= ${since} and ${isAccepted}
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
