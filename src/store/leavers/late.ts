import { sql } from 'kysely'
import { departureWaits } from '../roster/left-out-people.ts'
import type { Db } from '../schema.ts'

/** The late departures of a connection. `runId`: the run that states the oldest of them. */
type LateLeavers = {
  readonly name: string
  readonly people: number
  readonly since: Date
  readonly runId: string
}

/**
 * Finds departures that are neither acknowledged nor withdrawn within the limit of their connection. `bounds`: that limit in hours, by the
 * connection's name. A departure whose only plan was rejected or cancelled is not late, as an operator decided, unless the person was left out
 * when a part of a plan was approved.
 */
export async function lateLeavers(
  db: Db,
  { bounds, now }: { bounds: ReadonlyMap<string, number>; now: Date },
): Promise<LateLeavers[]> {
  const boundRows = [...bounds].map(([name, hours]) => ({ name, hours }))
  const { rows } = await sql<LateLeavers>`
    select bounds.name, count(*)::int as people, min(late.at) as since,
      (array_agg(leavers.run_id order by late.at, leavers.id))[1] as "runId"
    from leavers
    join jsonb_to_recordset(${JSON.stringify(boundRows)}::jsonb) as bounds(name text, hours integer) on bounds.name = leavers.connection
    left join runs on runs.id = leavers.run_id
    cross join lateral (
      select greatest(leavers.effective_at, leavers.first_seen_at) + bounds.hours * interval '1 hour' as at) late
    where leavers.acknowledged_at is null and leavers.ended_at is null and late.at <= ${now}
      and (leavers.accepted_at is not null or runs.state in ('planned', 'held') or ${departureWaits})
    group by bounds.name`.execute(db)
  return rows
}
