import { sql } from 'kysely'
import { isOfKind } from '../roster/unapproved-people.ts'
import type { Db } from '../schema.ts'
import { type Condition, type ConditionSettings, minute, type WaitingCounts } from './condition.ts'

/** Held runs that wait for an approval. */
export async function held(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<
    {
      name: string
      code: string
      reason: string
      since: Date
      runId: string
      runs: number
      expiresAt: Date | null
    } & WaitingCounts
  >`
    select distinct on (runs.connection) runs.connection as name, runs.id as "runId", coalesce(runs.reason, '') as reason,
      runs.expires_at as "expiresAt",
      (select string_agg(guard ->> 'name', ',' order by guard ->> 'name')
        from json_array_elements(runs.guards) guard where not (guard ->> 'ok')::boolean) as code,
      tally.runs, tally.since, tally.people, tally.leavers
    from runs join (
      select connection, count(*)::int as runs, min(least(coalesce(started_at, created_at), ${leftOutSince})) as since,
        sum(${planned('join', 'update', 'leave', 'return', 'correct', 'retract')})::int as people,
        sum(${planned('leave', 'correct')})::int as leavers
      from runs where state = 'held' and connection = any(${connections}) group by connection
    ) tally on tally.connection = runs.connection
    where runs.state = 'held'
    order by runs.connection, runs.created_at desc, runs.id`.execute(db)
  return rows.map(({ name, runs, reason, expiresAt, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'held',
    reason:
      runs === 1
        ? `a run waits for an approval${expiryText(expiresAt, now)}: ${reason}`
        : `${runs} runs wait for an approval${expiryText(expiresAt, now)}; the newest: ${reason}`,
  }))
}

/**
 * In SQL, since when the people of a held run wait who were left out when a part of an earlier plan was approved. Each night makes a new run
 * of them.
 */
const leftOutSince = sql`(
  select min(waiting.since) from unapproved_people waiting
  join changes on changes.run_id = runs.id and changes.identity_id = waiting.identity_id
  where waiting.connection = runs.connection and not changes.carried and ${isOfKind}
    and exists (
      select from json_array_elements(runs.guards) guard where guard ->> 'name' = 'leftUnapproved' and guard ->> 'ok' = 'false'))`

/** An expired plan can no longer be approved. It stays held, so that its departures stay visible until a run plans them again. */
function expiryText(expiresAt: Date | null, now: Date): string {
  if (expiresAt === null) return ''
  const at = `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return expiresAt > now ? ` until ${at}` : `, and its plan has expired at ${at}: run again`
}

/** Held runs whose plan has expired or will soon: in the last third of its time, at most one day before. */
export async function expiring(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; runId: string; since: Date; expiresAt: Date } & WaitingCounts>`
    with held as (
      select *, expires_at - least(interval '1 day', (expires_at - coalesce(started_at, created_at)) / 3) as ending_at
      from runs where state = 'held' and connection = any(${connections})
    )
    select distinct on (connection) connection as name, id as "runId", ending_at as since, expires_at as "expiresAt",
      ${planned('join', 'update', 'leave', 'return', 'correct', 'retract')} as people,
      ${planned('leave', 'correct')} as leavers
    from held where ending_at <= ${now}
    order by connection, expires_at desc, id`.execute(db)
  return rows.map(({ name, expiresAt, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'expiring',
    code: expiresAt > now ? 'expiring' : 'expired',
    reason:
      expiresAt > now
        ? `the plan of a held run can be approved until ${minute(expiresAt)} only`
        : `the plan of a held run expired ${minute(expiresAt)} and can no longer be approved: run again`,
  }))
}

function planned(...kinds: readonly string[]) {
  return sql.join(
    kinds.map((kind) => sql`coalesce((counts ->> ${kind})::int, 0)`),
    sql` + `,
  )
}

/**
 * Runs that failed without a successful run of the same feed since. A verification (feed `roster`) happens once a week, so a later read
 * of the source also ends this condition.
 */
export async function runFailed(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; code: string; reason: string; since: Date; runId: string; runs: number }>`
    with read as (
      select names.connection, feeds.feed, (
        select max(created_at) from runs
        where runs.connection = names.connection and runs.feed = feeds.feed
          and digest is not null and state <> 'failed' and part_of_run_id is null and not options ? 'retract') as at
      from unnest(${connections}::text[]) names (connection), unnest(array['source', 'webhook', 'roster']) feeds (feed)
    )
    select distinct on (read.connection) read.connection as name, newest.id as "runId",
      coalesce(newest.failure, 'run_failed') as code, coalesce(newest.reason, 'no reason is known') as reason,
      sum(failed.runs) over (partition by read.connection)::int as runs,
      min(failed.since) over (partition by read.connection) as since
    from read
    left join read source on source.connection = read.connection and source.feed = 'source' and read.feed = 'roster'
    cross join lateral (
      select count(*) as runs, min(coalesce(finished_at, created_at)) as since, max(created_at) as newest from runs
      where runs.connection = read.connection and runs.feed = read.feed and state = 'failed'
        and created_at > coalesce(greatest(read.at, source.at), '-infinity')) failed
    join runs newest on newest.connection = read.connection and newest.feed = read.feed and newest.state = 'failed'
      and newest.created_at = failed.newest
    order by read.connection, newest.created_at desc, newest.id`.execute(db)
  return rows.map(({ name, runs, reason, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'run_failed',
    reason: runs === 1 ? `a run failed: ${reason}` : `${runs} runs failed, one after the other: ${reason}`,
    people: null,
    leavers: null,
  }))
}
