import { sql } from 'kysely'
import type { Db } from './schema.ts'

type RunMeasure = {
  readonly connection: string
  readonly state: string
  readonly runs: number
  readonly endedAt: Date | null
}

/** Counts runs by connection and state, with the time of the newest. */
export async function runMeasures(db: Db): Promise<RunMeasure[]> {
  const { rows } = await sql<RunMeasure>`
    select connection, state, count(*)::int as runs, max(coalesce(finished_at, decided_at)) as "endedAt"
    from runs group by connection, state`.execute(db)
  return rows
}

/** When the source of each connection was last read to its end. */
export async function readTimes(db: Db): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await sql<{ connection: string; at: Date }>`
    select connection, max(coalesce(started_at, created_at)) as at from runs
    where feed = 'source' and digest is not null and state <> 'failed' and part_of_run_id is null group by connection`.execute(
    db,
  )
  return new Map(rows.map(({ connection, at }) => [connection, at]))
}

type OpenLeavers = { readonly people: number; readonly since: Date }

/** Departures whose day is over and that the platform has not acknowledged, by connection. */
export async function openLeavers(db: Db, now: Date): Promise<ReadonlyMap<string, OpenLeavers>> {
  const { rows } = await sql<OpenLeavers & { connection: string }>`
    select connection, count(*)::int as people, min(greatest(effective_at, first_seen_at)) as since from leavers
    where acknowledged_at is null and ended_at is null and accepted_at is not null
      and greatest(effective_at, first_seen_at) <= ${now}
    group by connection`.execute(db)
  return new Map(rows.map(({ connection, people, since }) => [connection, { people, since }]))
}

/** Counts open alerts by connection and kind. */
export async function openAlertCounts(
  db: Db,
): Promise<readonly { readonly connection: string; readonly kind: string; readonly alerts: number }[]> {
  return await db
    .selectFrom('alerts')
    .select(['connection', 'kind', sql<number>`count(*)::int`.as('alerts')])
    .where('cleared_at', 'is', null)
    .groupBy(['connection', 'kind'])
    .execute()
}
