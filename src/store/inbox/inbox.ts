import { type RawBuilder, sql } from 'kysely'
import type { StoredEvent } from '../../identity/record.ts'
import type { RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** An event as it came in. */
export type NewEvent = {
  readonly connection: string
  /** Equal for the same event of a connection, however often it is sent. */
  readonly key: string
  /** The sender's id of the event. */
  readonly eventId: string | null
  readonly signedAt: Date | null
  readonly receivedAt: Date
  readonly body: Uint8Array
  /** A test event: stored without its body, and never planned. */
  readonly isTest: boolean
}

/** Events that no run has taken yet. */
export type FreshEvents = {
  readonly connection: string
  readonly fresh: number
  readonly oldestReceivedAt: string
  readonly newestReceivedAt: string
}

/** An event with an unusable item, the reason, and when it is retried by itself; null or undefined: only an operator retries it. */
export type RejectedEvent = { readonly id: string; readonly reason: string; readonly retryAt?: Date | null }

/** Maximum number of events and of bytes of their bodies. */
type Portion = { readonly connection: string; readonly limit: number; readonly limitBytes?: number }

type StoredRow = {
  readonly id: number
  readonly event_id: string | null
  readonly body: Buffer
  readonly received_at: Date
  readonly signed_at: Date | null
}

const repetitionDays = 7
const portionBytes = 64 * 1024 * 1024

/** Stores all events or none; returns for each whether it is new. Duplicates are stored once. */
export async function addEvents(db: Db, events: readonly NewEvent[]): Promise<('stored' | 'seen before')[]> {
  if (events.length === 0) return []
  const column = <T>(of: (event: NewEvent) => T): T[] => events.map(of)
  // Numbered in order of arrival and stored in order of their keys, so that two processes that store the same events cannot deadlock.
  const { rows } = await sql<{ connection: string; dedup_key: string }>`
    with numbered as materialized (
      select nextval(pg_get_serial_sequence('inbox', 'id')) as id, sent.* from (
        select * from unnest(
          ${column((event) => event.connection)}::text[], ${column((event) => event.key)}::text[],
          ${column((event) => event.eventId)}::text[], ${column((event) => event.signedAt)}::timestamptz[],
          ${column((event) => event.receivedAt)}::timestamptz[], ${column((event) => event.body)}::bytea[],
          ${column((event) => event.isTest)}::boolean[]
        ) with ordinality as given (connection, key, event_id, signed_at, received_at, body, is_test, position) order by position
      ) as sent
    )
    insert into inbox (id, connection, dedup_key, event_id, signed_at, received_at, body, state) overriding system value
    select id, connection, key, event_id, signed_at, received_at,
      case when is_test then null else body end, case when is_test then 'test' else 'pending' end
    from numbered order by connection, key, id
    on conflict (connection, dedup_key) do nothing
    returning connection, dedup_key`.execute(db)
  const stored = new Set(rows.map((row) => nameOf(row.connection, row.dedup_key)))
  return events.map(({ connection, key }) => (stored.delete(nameOf(connection, key)) ? 'stored' : 'seen before'))
}

/** Counts the events of a connection that wait for a run or a decision, including those that a run has taken. */
export async function pendingCount(db: Db, connection: string): Promise<number> {
  const { count } = await db
    .selectFrom('inbox')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('connection', '=', connection)
    .where('state', 'in', ['pending', 'held'])
    .executeTakeFirstOrThrow()
  return count
}

/** Whether an event of the connection with this ID of its sender waits, is held or was rejected, so that it may still take effect. */
export async function mayTakeEffect(
  db: Db,
  { connection, eventId }: { connection: string; eventId: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('inbox')
    .select('id')
    .where('connection', '=', connection)
    .where('state', 'in', ['pending', 'held', 'rejected'])
    .where('event_id', '=', eventId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The connections with events that no run has taken yet. */
export async function pendingConnections(db: Db): Promise<FreshEvents[]> {
  const rows = await db
    .selectFrom('inbox')
    .select([
      'connection',
      sql<number>`count(*)::int`.as('fresh'),
      sql<Date>`min(received_at)`.as('oldest'),
      sql<Date>`max(received_at)`.as('newest'),
    ])
    .where('state', '=', 'pending')
    .where('run_id', 'is', null)
    .groupBy('connection')
    .orderBy('connection')
    .execute()
  return rows.map(({ connection, fresh, oldest, newest }) => ({
    connection,
    fresh,
    oldestReceivedAt: oldest.toISOString(),
    newestReceivedAt: newest.toISOString(),
  }))
}

type PortionOfRun = Portion & {
  readonly runId: string
}

/**
 * Assigns events to a run, the oldest first: those that it already has, and new ones up to the limits, but at least one. A run that is
 * repeated gets the same events again.
 */
export async function takePending(tx: Db, { runId, ...portion }: PortionOfRun): Promise<StoredEvent[]> {
  const { rows } = await sql<StoredRow>`
    with ${nextPortion({ ...portion, runId })}
    update inbox set run_id = ${runId} from portion
    where inbox.id = portion.id and state = 'pending' and (run_id is null or run_id = ${runId})
    returning inbox.id, event_id, body, received_at, signed_at`.execute(tx)
  return rows.sort((a, b) => a.id - b.id).map(toStoredEvent)
}

/** The events that the next run would get, without assigning them. */
export async function peekPending(db: Db, portion: Portion): Promise<StoredEvent[]> {
  const { rows } = await sql<StoredRow>`
    with ${nextPortion({ ...portion, runId: null })}
    select inbox.id, event_id, body, received_at, signed_at from inbox join portion on inbox.id = portion.id
    order by inbox.id`.execute(db)
  return rows.map(toStoredEvent)
}

/**
 * Assigns all waiting events of the connection to a run that reads none of them, including those that other runs took and did not
 * acknowledge.
 */
export async function takeAllPending(tx: Db, { connection, runId }: RunOfConnection): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ run_id: runId })
    .where('connection', '=', connection)
    .where('state', '=', 'pending')
    .where(sql<boolean>`run_id is distinct from ${runId}::uuid`)
    .execute()
}

/** The events that the plan of a held run was made from, without those that only queue behind it. */
export async function eventsOfHeld(db: Db, runId: string): Promise<StoredEvent[]> {
  const rows = await db
    .selectFrom('inbox')
    .select(['id', 'event_id', 'body', 'received_at', 'signed_at'])
    .where('run_id', '=', runId)
    .where('state', '=', 'held')
    .where('joined', '=', false)
    .orderBy('id')
    .execute()
  return rows.map((row) => toStoredEvent({ ...row, body: row.body ?? Buffer.alloc(0) }))
}

/** An event that waits for the decision about a held run, and why. `joined`: it queues behind the run and is not in its plan. */
type HeldEvent = {
  readonly id: string
  readonly runId: string
  readonly reason: string
  readonly joined: boolean
}

/** Holds events of a run: they wait for the decision about another run. */
export async function holdEvents(
  tx: Db,
  { takenBy, events }: { takenBy: string; events: readonly HeldEvent[] },
): Promise<void> {
  await sql`
    update inbox set state = 'held', run_id = held."runId", reason = held.reason, joined = held.joined
    from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as held(id bigint, "runId" uuid, reason text, joined boolean)
    where inbox.run_id = ${takenBy} and inbox.state = 'pending' and inbox.id = held.id`.execute(tx)
}

/** Holds all events of a run that is held. */
export async function holdAllEvents(tx: Db, { runId, reason }: { runId: string; reason: string }): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ state: 'held', reason })
    .where('run_id', '=', runId)
    .where('state', '=', 'pending')
    .execute()
}

/** Returns events of a run, so that the next run takes them. */
export async function deferEvents(tx: Db, { runId, ids }: { runId: string; ids: readonly string[] }): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ run_id: null })
    .where('run_id', '=', runId)
    .where('state', '=', 'pending')
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .execute()
}

/** Moves the events of a held run to the run that makes its plan again. Events that queued behind it become free. */
export async function passOnEvents(tx: Db, { from, to }: { from: string; to: string }): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({
      state: 'pending',
      run_id: sql`case when joined then null else ${to}::uuid end`,
      reason: null,
      joined: false,
    })
    .where('run_id', '=', from)
    .where('state', '=', 'held')
    .execute()
}

/** Releases the held events of a run without a decision: the next run takes them. */
export async function releaseEvents(tx: Db, runId: string): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ state: 'pending', reason: null, joined: false })
    .where('run_id', '=', runId)
    .where('state', '=', 'held')
    .execute()
}

/**
 * Acknowledges the events of a run whose plan was accepted, and removes their bodies. Rejected events keep their bodies, so that they can
 * be retried. Events that queued behind the run become free.
 */
export async function acknowledgeEvents(
  tx: Db,
  { runId, rejected = [] }: { runId: string; rejected?: readonly RejectedEvent[] },
): Promise<void> {
  await freeJoined(tx, runId)
  await tx
    .updateTable('inbox')
    .set({ state: 'settled', body: null, reason: sql`${overtakenReason}` })
    .where('run_id', '=', runId)
    .where('state', 'in', ['pending', 'held'])
    .where(sql<boolean>`id <> all(${rejected.map(({ id }) => id)}::bigint[])`)
    .execute()
  await sql`
    update inbox set state = 'rejected', reason = rejected.reason, retry_at = rejected."retryAt"
    from jsonb_to_recordset(${JSON.stringify(rejected)}::jsonb) as rejected(id bigint, reason text, "retryAt" timestamptz)
    where inbox.run_id = ${runId} and inbox.state in ('pending', 'held') and inbox.id = rejected.id`.execute(tx)
}

/** In SQL, why an event has no effect; of several people, the first is named. */
const overtakenReason = sql`(
  select min(reason) || case when count(*) > 1 then '; and ' || count(*) - 1 || ' more people of it' else '' end
  from overtaken_events where event = inbox.id)`

/** Rejects the events of a run whose plan an operator rejected. Events that queued behind the run become free. */
export async function refuseEvents(tx: Db, { runId, reason }: { runId: string; reason: string }): Promise<void> {
  await freeJoined(tx, runId)
  await tx
    .updateTable('inbox')
    .set({ state: 'rejected', reason })
    .where('run_id', '=', runId)
    .where('state', 'in', ['pending', 'held'])
    .execute()
}

/** A person whom an event names. */
export type PersonOfEvent = { readonly event: string; readonly key: string }

type EventsOfPart = {
  readonly runId: string
  readonly partId: string
  /** Whom the events of the held plan name. */
  readonly people: readonly PersonOfEvent[]
}

/**
 * After a part of a held plan was approved: acknowledges the events about its people of which nobody is left in the plan, not even with
 * something for a later day. Events that queued behind the plan become free: the next run judges them by what is left of it.
 */
export async function acknowledgeEventsOfPart(tx: Db, { runId, partId, people }: EventsOfPart): Promise<void> {
  await freeJoined(tx, runId)
  const [events, keys] = [people.map(({ event }) => event), people.map(({ key }) => key)]
  await sql`
    with named as materialized (
      select event, key,
        exists (select from changes where run_id = ${partId} and identity_id = key) as approved,
        exists (select from changes where run_id = ${runId} and identity_id = key)
          or exists (select from plan_entries where run_id = ${runId} and identity_id = key)
          or exists (select from waiting_rows where run_id = ${runId} and identity_id = key) as held
      from unnest(${events}::bigint[], ${keys}::text[]) as named(event, key)
    ), done as (
      select event from named group by event having bool_or(approved) and not bool_or(held)
    )
    update inbox set state = 'settled', body = null, run_id = ${partId}, reason = ${overtakenReason}
    from done
    where inbox.id = done.event and run_id = ${runId} and state = 'held'
      and not exists (select from rejects where rejects.run_id = ${runId} and rejects.event = inbox.id::text)`.execute(
    tx,
  )
}

async function freeJoined(tx: Db, runId: string): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ state: 'pending', run_id: null, reason: null, joined: false })
    .where('run_id', '=', runId)
    .where('state', '=', 'held')
    .where('joined', '=', true)
    .execute()
}

type TakeBackInput = RunOfConnection & {
  readonly held: boolean
}

/**
 * Frees the events that other runs of the connection took and did not acknowledge: those of failed or cancelled runs, and with `held`
 * those of held runs.
 */
export async function takeBackEvents(tx: Db, { connection, runId, held }: TakeBackInput): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ state: 'pending', run_id: null, reason: null, joined: false })
    .where('connection', '=', connection)
    .where('state', 'in', held ? ['pending', 'held'] : ['pending'])
    .where('run_id', '<>', runId)
    .execute()
}

/** Frees the events of runs that failed or were cancelled before that time, for another attempt. */
export async function retryEndedEvents(db: Db, { before }: { before: Date }): Promise<void> {
  await sql`
    update inbox set run_id = null from runs
    where inbox.state = 'pending' and runs.id = inbox.run_id and runs.state in ('failed', 'cancelled')
      and runs.finished_at < ${before}`.execute(db)
}

/** The columns of a rejected event that is read again. What is then wrong with it may be something else, so no mail to HR has listed it. */
export const readAgain = { state: 'pending', run_id: null, reason: null, retry_at: null, mailed_at: null } as const

/** Makes rejected events pending again once their future date has come. */
export async function retryDueEvents(db: Db, { now }: { now: Date }): Promise<void> {
  await db
    .updateTable('inbox')
    .set(readAgain)
    .where('state', '=', 'rejected')
    .where('retry_at', '<=', now)
    .where('body', 'is not', null)
    .execute()
}

/** Removes closed events that are older than the period in which duplicates are recognised; returns their number. */
export async function forgetEvents(db: Db, { now }: { now: Date }): Promise<number> {
  const forgotten = await db
    .deleteFrom('inbox')
    .where('state', 'in', ['settled', 'dismissed', 'test'])
    .where('received_at', '<', new Date(now.getTime() - repetitionDays * 24 * 60 * 60 * 1000))
    .executeTakeFirst()
  return Number(forgotten.numDeletedRows)
}

/** Identifies an event of a connection in one text. */
function nameOf(connection: string, key: string): string {
  return `${connection} ${key}`
}

type NextPortion = Portion & {
  readonly runId: string | null
}

/** The ids of the events that a run gets, as `portion`. */
function nextPortion({ connection, limit, limitBytes = portionBytes, runId }: NextPortion): RawBuilder<unknown> {
  return sql`waiting as (
      select id, run_id, octet_length(body) as bytes from inbox
      where connection = ${connection} and state = 'pending' and (run_id is null or run_id = ${runId}::uuid)
      order by run_id nulls last, id limit ${limit}
    ), measured as (
      select id, run_id, sum(bytes) over (order by run_id nulls last, id) - bytes as bytes_before from waiting
    ), portion as (
      select id from measured where run_id is not null or bytes_before < ${limitBytes}
    )`
}

function toStoredEvent(row: StoredRow): StoredEvent {
  return {
    id: String(row.id),
    eventId: row.event_id,
    body: row.body,
    receivedAt: row.received_at.toISOString(),
    signedAt: row.signed_at?.toISOString() ?? null,
  }
}
