import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** The departures of a connection that the platform should have acknowledged by now. `runId`: the run that states the oldest of them. */
type LateLeavers = {
  readonly name: string
  readonly people: number
  readonly since: Date
  readonly runId: string
}

/**
 * Departures that are neither acknowledged nor taken back though the bound of their connection has passed, by connection. A person who
 * rejected or cancelled the only plan that states one has decided about it.
 */
export async function lateLeavers(
  db: Db,
  { bounds, now }: { bounds: ReadonlyMap<string, number>; now: Date },
): Promise<LateLeavers[]> {
  const given = [...bounds].map(([name, hours]) => ({ name, hours }))
  const { rows } = await sql<LateLeavers>`
    select bounds.name, count(*)::int as people, min(late.at) as since,
      (array_agg(leavers.run_id order by late.at, leavers.id))[1] as "runId"
    from leavers
    join jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as bounds(name text, hours integer) on bounds.name = leavers.connection
    left join runs on runs.id = leavers.run_id
    cross join lateral (
      select greatest(leavers.effective_at, leavers.first_seen_at) + bounds.hours * interval '1 hour' as at) late
    where leavers.acknowledged_at is null and leavers.ended_at is null and late.at <= ${now}
      and (leavers.accepted_at is not null or runs.state in ('planned', 'held'))
    group by bounds.name`.execute(db)
  return rows
}
