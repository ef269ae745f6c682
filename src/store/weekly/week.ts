import { sql } from 'kysely'
import { isAccepted, newChanges } from '../runs/history.ts'
import type { Db } from '../schema.ts'

type Period = { readonly connections: readonly string[]; readonly from: Date; readonly to: Date }

/** What happened to a connection in a period: counts of people, and no value of them. */
export type WeekCounts = {
  readonly connection: string
  readonly joiners: number
  readonly changed: number
  readonly leavers: number
  /** Runs that failed. */
  readonly failed: number
}

/** The new changes of accepted runs, and the failed runs, by connection. */
export async function weekCounts(db: Db, { connections, from, to }: Period): Promise<readonly WeekCounts[]> {
  const { join, leave, update, back, correct } = newChanges
  const accepted = sql`filter (where ${isAccepted})`
  const { rows } = await sql<WeekCounts>`
    select connection, coalesce(sum(${join}) ${accepted}, 0)::int as joiners, coalesce(sum(${leave}) ${accepted}, 0)::int as leavers,
      coalesce(sum(${update} + ${back} + ${correct}) ${accepted}, 0)::int as changed,
      count(*) filter (where state = 'failed')::int as failed
    from runs
    where connection = any(${connections}) and coalesce(decided_at, started_at, created_at) >= ${from}
      and coalesce(decided_at, started_at, created_at) < ${to}
    group by connection`.execute(db)
  return rows
}

/** When the source of each connection was read to its end in a period, the earliest first. */
export async function weekReadings(
  db: Db,
  { connections, from, to }: Period,
): Promise<ReadonlyMap<string, readonly Date[]>> {
  const { rows } = await sql<{ connection: string; at: Date[] }>`
    select connection, array_agg(coalesce(started_at, created_at) order by coalesce(started_at, created_at)) as at from runs
    where feed = 'source' and digest is not null and state <> 'failed' and part_of_run_id is null
      and connection = any(${connections}) and coalesce(started_at, created_at) >= ${from} and coalesce(started_at, created_at) < ${to}
    group by connection`.execute(db)
  return new Map(rows.map(({ connection, at }) => [connection, at]))
}

/** When the first run of each connection was requested, of those that are stored. */
export async function firstRuns(db: Db, connections: readonly string[]): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await sql<{ connection: string; at: Date }>`
    select connection, min(created_at) as at from runs where connection = any(${connections}) group by connection`.execute(
    db,
  )
  return new Map(rows.map(({ connection, at }) => [connection, at]))
}

/** The departures of a connection that the platform acknowledged in a period. */
export type AcknowledgedDepartures = {
  readonly connection: string
  readonly people: number
  /** The longest time from when a departure was known and its day was over, to its acknowledgement. */
  readonly slowestSeconds: number
}

/** The departures that were acknowledged in a period, by connection. */
export async function weekAcknowledged(
  db: Db,
  { connections, from, to }: Period,
): Promise<readonly AcknowledgedDepartures[]> {
  const { rows } = await sql<AcknowledgedDepartures>`
    select connection, count(*)::int as people,
      greatest(0, max(extract(epoch from acknowledged_at - greatest(effective_at, first_seen_at))))::float8 as "slowestSeconds"
    from leavers
    where connection = any(${connections}) and not joined_as_leaver and acknowledged_at >= ${from} and acknowledged_at < ${to}
    group by connection`.execute(db)
  return rows
}

/** A held plan that somebody approved or rejected in a period, or that still waits. `by` null: it waits. */
export type HeldPlan = {
  readonly connection: string
  readonly id: string
  readonly state: string
  readonly by: string | null
  readonly at: Date
}

/** The plans that were decided in a period, and those that wait now, the earliest first. */
export async function weekHeldPlans(db: Db, { connections, from, to }: Period): Promise<readonly HeldPlan[]> {
  const { rows } = await sql<HeldPlan>`
    select connection, id, state, case when state <> 'held' then decided_by end as by,
      coalesce(decided_at, started_at, created_at) as at
    from runs
    where connection = any(${connections})
      and (state = 'held' or state <> 'cancelled' and decided_by is not null and decided_at >= ${from} and decided_at < ${to})
    order by at, id`.execute(db)
  return rows
}

/** How many people of each connection an operator holds back from leaving, by the date of today in UTC. */
export async function heldBackCounts(db: Db, now: Date): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ connection: string; people: number }>`
    select connection, count(*)::int as people from hold_backs
    where until > ${now.toISOString().slice(0, 10)} group by connection`.execute(db)
  return new Map(rows.map(({ connection, people }) => [connection, people]))
}
