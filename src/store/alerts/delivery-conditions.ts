import { sql } from 'kysely'
import { pluralizePeople } from '../../identity/pluralize.ts'
import { maxRecentAttempts } from '../recent-attempts.ts'
import type { Db } from '../schema.ts'
import { type Condition, type ConditionSettings, peopleText, type WaitingCounts } from './condition.ts'

const leaverKinds = sql`('leave', 'correct')`

/**
 * Sums over batches, as `people` and `leavers`. Batches of joiners contain no leavers, so their changes are not counted. The record of a
 * leaver is deleted, or left out of an upload.
 */
const tally = sql`
  coalesce(sum(deliveries.people - deliveries.confirmed - deliveries.refused), 0)::int as people,
  coalesce(sum(case when deliveries.kind <> 'upsert' then (
    select count(*) from changes
    where changes.run_id = deliveries.run_id and changes.batch = deliveries.batch and changes.state = 'due'
      and changes.kind in ${leaverKinds}) end), 0)::int as leavers`
const stillDue = sql`runs.state = 'delivering' and deliveries.state = 'due' and deliveries.answer is null`

/** Blocked connections. A connection that is no longer configured is included while a run of it is delivering. */
export async function blocked(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; code: string | null; reason: string; since: Date } & WaitingCounts>`
    select name, coalesce(blocked_code, blocked_status::text) as code, coalesce(blocked_reason, '') as reason,
      blocked_at as since, waiting.people, waiting.leavers
    from connections cross join lateral (
      select ${tally} from runs join deliveries on deliveries.run_id = runs.id
      where runs.connection = connections.name and ${stillDue}) waiting
    where blocked_at is not null and (name = any(${connections}) or exists (
      select 1 from runs where runs.connection = connections.name and runs.state = 'delivering'))`.execute(db)
  return rows.map(({ name, ...condition }) => ({ ...condition, connection: name, kind: 'blocked', runId: null }))
}

/** Batches that fail, and batches that no worker has picked up since they became due, e.g. because the queue is unreachable. */
export async function overdue(db: Db, { connections, overdueMinutes, now }: ConditionSettings): Promise<Condition[]> {
  const latest = new Date(now.getTime() - overdueMinutes * 60_000)
  const due = sql`case when deliveries.lease is null then deliveries.due_at end`
  const { rows } = await sql<
    { name: string; code: string | null; failure: string | null; since: Date; runId: string } & WaitingCounts
  >`
    with late as (
      select deliveries.*, runs.connection, coalesce(failing_since, ${due}) as since
      from deliveries join runs on runs.id = deliveries.run_id
      where ${stillDue} and runs.connection = any(${connections}) and coalesce(failing_since, ${due}) <= ${latest}
    ), waiting as (
      select connection, ${tally} from late deliveries group by connection
    )
    select distinct on (connection) connection as name, last_code as code, last_failure as failure, since,
      run_id as "runId", waiting.people, waiting.leavers
    from late join waiting using (connection)
    order by connection, since, run_id, batch`.execute(db)
  return rows.map(({ name, failure, ...condition }) => {
    const why = failure ?? 'no worker has picked them up'
    const reason = `${peopleText(condition)} could not be delivered for more than ${overdueMinutes} minutes: ${why}`
    return { ...condition, connection: name, kind: 'overdue', reason }
  })
}

/** Attempts within this time are a repetition. */
const repeatedMinutes = 5

/** Batches whose attempts never finish, e.g. because two processes keep taking them over or the process keeps crashing. */
export async function repeated(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const within = sql`make_interval(mins => ${sql.lit(repeatedMinutes)})`
  const { rows } = await sql<{ name: string; since: Date; runId: string } & WaitingCounts>`
    with repeated as (
      select deliveries.*, runs.connection, attempted.since
      from deliveries join runs on runs.id = deliveries.run_id
      cross join lateral (select min(at) as since, max(at) as until, count(*) as attempts from unnest(recent_attempts) at) attempted
      where ${stillDue} and runs.connection = any(${connections}) and attempted.attempts = ${sql.lit(maxRecentAttempts)}
        and attempted.until - attempted.since <= ${within}
        and attempted.until between ${now}::timestamptz - ${within} and ${now}::timestamptz + ${within}
    ), waiting as (
      select connection, ${tally} from repeated deliveries group by connection
    )
    select distinct on (connection) connection as name, since, run_id as "runId", waiting.people, waiting.leavers
    from repeated join waiting using (connection)
    order by connection, since, run_id, batch`.execute(db)
  const reason = `a batch was attempted ${maxRecentAttempts} times within ${repeatedMinutes} minutes, and no attempt came to its end`
  return rows.map(({ name, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'repeated',
    code: null,
    reason,
  }))
}

/** Leavers that the platform refuses or fails to process. Other refusals do not raise an alert. */
export async function problems(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; since: Date } & WaitingCounts>`
    select connection as name, min(first_at) as since, count(*)::int as people, count(*)::int as leavers
    from problems where kind in ${leaverKinds} and connection = any(${connections})
    group by connection`.execute(db)
  return rows.map(({ name, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'problems',
    code: null,
    reason: `the platform refuses the leaving dates of ${pluralizePeople(condition.people)}`,
    runId: null,
  }))
}
