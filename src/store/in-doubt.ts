import { type RawBuilder, sql } from 'kysely'
import type { InDoubtCounts } from '../contract/control/shapes.ts'
import { hasCome } from './has-come.ts'
import type { ConnectionAt, PeopleKeys } from './keys.ts'
import type { Db } from './schema.ts'

/** How long a request that was given up may still take to reach the platform: longer than proxies and servers keep one. */
const lateMinutes = 15
/** When people are read back after the request was given up; after the last of these times, again and again at its distance. */
const readingMinutes = [1, 5, lateMinutes] as const
/** So many answers in a row have to be the same once no such request can arrive any more. */
const equalAnswers = 2
/** How soon a reading that came to nothing is repeated. */
const retryMinutes = 1
/** A process that claims people reads them within this time, or another one may. */
const claimMinutes = 5

type Doubting = {
  readonly runId: string
  readonly batch: number
  readonly now: Date
  /** Which changes of the batch. */
  readonly where: RawBuilder<unknown>
}

/** The statement that puts people of a batch in doubt: a request about them was given up by now and may still arrive. */
export function markInDoubt({ runId, batch, now, where }: Doubting): RawBuilder<unknown> {
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

/** The connections with people in doubt whose time to be read back has come. Those that are blocked are left alone. */
export async function connectionsInDoubt(db: Db, now: Date): Promise<string[]> {
  const { rows } = await sql<{ connection: string }>`
    select distinct connection from in_doubt join connections on connections.name = connection
    where ${isDue(now)} and blocked_at is null`.execute(db)
  return rows.map(({ connection }) => connection)
}

export type PersonInDoubt = { readonly identityId: string; readonly isLeaver: boolean }

/**
 * Takes the people of a connection who are to be read back now. People with a change that is still due are left for later: its delivery
 * reads back what it has to. When they are read next is written at once, so that no two processes read the same people.
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
 * Notes the answers about people in doubt. `isSame`: the platform holds what it was known to hold. People of whom it answered that often
 * enough are no longer in doubt; the others are read back again.
 */
export async function recordAnswers(tx: Db, { connection, answers, now }: LookUpAnswers): Promise<void> {
  const told = sql`jsonb_to_recordset(${JSON.stringify(answers)}::jsonb) as told("identityId" text, "isSame" boolean)`
  const [first, second, last] = readingMinutes
  // A doubt cannot begin later than now: the clock has been set back since.
  const began = sql`least(since, ${now}::timestamptz)`
  const after = (count: number) => sql`${began} + ${minutes(count)}`
  const age = sql`extract(epoch from ${now}::timestamptz - ${began}) / 60`
  await sql`
    update in_doubt set since = ${began},
      answers = case when told."isSame" and ${after(lateMinutes)} <= ${now}::timestamptz then answers + 1 else 0 end,
      due_at = case when ${age} < ${first}::numeric then ${after(first)} when ${age} < ${second}::numeric then ${after(second)}
        else ${began} + ${minutes(last)} * (floor(greatest(${age}, 0) / ${last}::numeric) + 1)::int end
    from (
      select in_doubt.identity_id as "identityId", told."isSame" from in_doubt join ${told} on told."identityId" = in_doubt.identity_id
      where in_doubt.connection = ${connection} order by in_doubt.identity_id for update of in_doubt
    ) told
    where connection = ${connection} and identity_id = told."identityId"`.execute(tx)
  await sql`delete from in_doubt where connection = ${connection} and answers >= ${equalAnswers}::int`.execute(tx)
}

type RetryInput = PeopleKeys & {
  readonly now: Date
}

/** Has people read back soon again: the platform did not answer. */
export async function retryLookUp(db: Db, { connection, identityIds, now }: RetryInput): Promise<void> {
  await sql`
    update in_doubt set due_at = least(in_doubt.due_at, ${now}::timestamptz + ${minutes(retryMinutes)})
    from (
      select identity_id from in_doubt where connection = ${connection} and identity_id = any(${identityIds})
      order by identity_id for update
    ) unread
    where in_doubt.connection = ${connection} and in_doubt.identity_id = unread.identity_id`.execute(db)
}

/** How many people of each connection are in doubt; a connection without any is left out. */
export async function inDoubtCounts(db: Db): Promise<ReadonlyMap<string, InDoubtCounts>> {
  const { rows } = await sql<{ connection: string; tally: InDoubtCounts }>`
    select connection, ${tally()} as tally from ${doubted()} group by connection`.execute(db)
  return new Map(rows.map((row) => [row.connection, row.tally]))
}

/** The same as a column of a statement that reads `runs`: who was in doubt when the run ended, and still is. Null: no one. */
export const inDoubtCountsOfRun = sql<InDoubtCounts | null>`(
  select ${tally()} from ${doubted()}
  where in_doubt.connection = runs.connection and in_doubt.since <= coalesce(runs.finished_at, in_doubt.since)
  having count(*) > 0)`

function doubted(): RawBuilder<unknown> {
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
