import { type RawBuilder, sql } from 'kysely'
import type { InDoubtCounts } from '../contract/control/shapes.ts'
import { hasCome } from './has-come.ts'
import type { ConnectionAt, PeopleKeys } from './keys.ts'
import type { Db } from './schema.ts'

/** How long an abandoned request may take to reach the platform: longer than proxies and servers keep one. */
const lateMinutes = 15
/** When people are looked up after the request was abandoned, in minutes; then again at the last interval. */
const readingMinutes = [1, 5, lateMinutes] as const
/** Required number of equal answers in a row, after no such request can arrive any more. */
const equalAnswers = 2
/** When a failed look-up is repeated. */
const retryMinutes = 1
/** A process that claims people looks them up within this time; then another process may. */
const claimMinutes = 5

type DoubtInput = {
  readonly runId: string
  readonly batch: number
  readonly now: Date
  /** Which changes of the batch. */
  readonly where: RawBuilder<unknown>
}

/** The statement that puts people of a batch in doubt: an abandoned request about them may still arrive. */
export function markInDoubt({ runId, batch, now, where }: DoubtInput): RawBuilder<unknown> {
  return sql`
    insert into in_doubt (connection, identity_id, run_id, since, due_at)
    select runs.connection, changes.identity_id, runs.id, ${now}::timestamptz, ${now}::timestamptz + ${minutes(readingMinutes[0])}
    from changes join runs on runs.id = changes.run_id
    where changes.run_id = ${runId} and changes.batch = ${batch} and ${where}
    order by changes.identity_id
    on conflict (connection, identity_id) do update set run_id = excluded.run_id, since = excluded.since,
      due_at = least(in_doubt.due_at, excluded.due_at), answers = 0`
}

function isDue(now: Date): RawBuilder<boolean> {
  return hasCome(sql`in_doubt.due_at`, { now, maxMinutesAhead: lateMinutes + 1 })
}

/** The connections with people who are due to be looked up. Blocked connections are left out. */
export async function connectionsInDoubt(db: Db, now: Date): Promise<string[]> {
  const { rows } = await sql<{ connection: string }>`
    select distinct connection from in_doubt join connections on connections.name = connection
    where ${isDue(now)} and blocked_at is null`.execute(db)
  return rows.map(({ connection }) => connection)
}

/** A person to look up. */
export type PersonInDoubt = { readonly identityId: string; readonly isLeaver: boolean }

/**
 * Claims the people of a connection who are due to be looked up. People with a due change are left out: their delivery looks them up. The
 * next time is written at once, so that no two processes look up the same people.
 */
export async function claimPeopleInDoubt(db: Db, { connection, now }: ConnectionAt): Promise<readonly PersonInDoubt[]> {
  const { rows } = await sql<PersonInDoubt>`
    with due as (
      select identity_id from in_doubt
      where connection = ${connection} and ${isDue(now)} and not exists (
        select 1 from runs join changes on changes.run_id = runs.id
        join deliveries on deliveries.run_id = changes.run_id and deliveries.batch = changes.batch
        where runs.connection = in_doubt.connection and runs.state = 'delivering' and deliveries.state = 'due'
          and changes.identity_id = in_doubt.identity_id and changes.state = 'due')
      for update skip locked
    ), claimed as (
      update in_doubt set due_at = ${now}::timestamptz + ${minutes(claimMinutes)} from due
      where in_doubt.connection = ${connection} and in_doubt.identity_id = due.identity_id
      returning in_doubt.identity_id
    )
    select identity_id as "identityId", coalesce(desired ->> 'separatedAt' is not null, false) as "isLeaver"
    from claimed join roster using (identity_id) where roster.connection = ${connection}
    order by identity_id`.execute(db)
  return rows
}

type LookUpAnswers = {
  readonly connection: string
  readonly answers: readonly { readonly identityId: string; readonly isSame: boolean }[]
  readonly now: Date
}

/**
 * Records the answers about people in doubt. `isSame`: the platform has what it acknowledged. After enough equal answers a person is no
 * longer in doubt; the others are looked up again.
 */
export async function recordAnswers(tx: Db, { connection, answers, now }: LookUpAnswers): Promise<void> {
  const answered = sql`jsonb_to_recordset(${JSON.stringify(answers)}::jsonb) as answered("identityId" text, "isSame" boolean)`
  const [first, second, last] = readingMinutes
  // A doubt in the future began before the clock was set back.
  const began = sql`least(since, ${now}::timestamptz)`
  const after = (count: number) => sql`${began} + ${minutes(count)}`
  const age = sql`extract(epoch from ${now}::timestamptz - ${began}) / 60`
  await sql`
    update in_doubt set since = ${began},
      answers = case when answered."isSame" and ${after(lateMinutes)} <= ${now}::timestamptz then answers + 1 else 0 end,
      due_at = case when ${age} < ${first}::numeric then ${after(first)} when ${age} < ${second}::numeric then ${after(second)}
        else ${began} + ${minutes(last)} * (floor(greatest(${age}, 0) / ${last}::numeric) + 1)::int end
    from (
      select in_doubt.identity_id as "identityId", answered."isSame" from in_doubt join ${answered} on answered."identityId" = in_doubt.identity_id
      where in_doubt.connection = ${connection} order by in_doubt.identity_id for update of in_doubt
    ) answered
    where connection = ${connection} and identity_id = answered."identityId"`.execute(tx)
  await sql`delete from in_doubt where connection = ${connection} and answers >= ${equalAnswers}::int`.execute(tx)
}

type RetryInput = PeopleKeys & {
  readonly now: Date
}

/** Makes people due for another look-up soon, because the platform did not answer. */
export async function retryLookUp(db: Db, { connection, identityIds, now }: RetryInput): Promise<void> {
  await sql`
    update in_doubt set due_at = least(in_doubt.due_at, ${now}::timestamptz + ${minutes(retryMinutes)})
    from (
      select identity_id from in_doubt where connection = ${connection} and identity_id = any(${identityIds})
      order by identity_id for update
    ) unread
    where in_doubt.connection = ${connection} and in_doubt.identity_id = unread.identity_id`.execute(db)
}

/** Counts the people in doubt by connection; connections without any are left out. */
export async function inDoubtCounts(db: Db): Promise<ReadonlyMap<string, InDoubtCounts>> {
  const { rows } = await sql<{ connection: string; tally: InDoubtCounts }>`
    select connection, ${tally()} as tally from ${peopleInDoubt()} group by connection`.execute(db)
  return new Map(rows.map((row) => [row.connection, row.tally]))
}

/** The same as a column of a statement that reads `runs`: people who were in doubt when the run ended and still are. Null: none. */
export const inDoubtCountsOfRun = sql<InDoubtCounts | null>`(
  select ${tally()} from ${peopleInDoubt()}
  where in_doubt.connection = runs.connection and in_doubt.since <= coalesce(runs.finished_at, in_doubt.since)
  having count(*) > 0)`

function peopleInDoubt(): RawBuilder<unknown> {
  return sql`in_doubt left join roster using (connection, identity_id)`
}

function tally(): RawBuilder<InDoubtCounts> {
  const lastReading = sql`case when in_doubt.answers > 0 then in_doubt.due_at
    else greatest(in_doubt.due_at, in_doubt.since + ${minutes(lateMinutes)}) + ${minutes(lateMinutes)} end`
  return sql`json_build_object(
    'people', count(*), 'leavers', count(*) filter (where roster.desired ->> 'separatedAt' is not null),
    'until', to_char(max(${lastReading}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`
}

function minutes(count: number): RawBuilder<unknown> {
  return sql.raw(`interval '${count} minutes'`)
}
