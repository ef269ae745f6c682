import { type RawBuilder, sql } from 'kysely'
import type { StoredEvent } from '../../identity/record.ts'
import type { RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** An event as it came in. */
export type NewEvent = {
  readonly connection: string
  /** Equal for what is the same event of this connection, however often it is sent. */
  readonly key: string
  /** The sender's own name for it. */
  readonly eventId: string | null
  readonly signedAt: Date | null
  readonly receivedAt: Date
  readonly body: Uint8Array
  /** Only proves that events arrive: kept without its body, and never planned. */
  readonly isTest: boolean
}

/** Events that no run has taken yet. */
export type FreshEvents = {
  readonly connection: string
  readonly fresh: number
  readonly oldestReceivedAt: string
  readonly newestReceivedAt: string
}

/** An event in which something could not be used, why, and when it is read again by itself; none: only a person has it read again. */
export type RejectedEvent = { readonly id: string; readonly reason: string; readonly retryAt?: Date | null }

/** So many events at most, and so many bytes of bodies. */
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

/** Stores events, all or none; says of each whether it is new. Two that are the same event are stored once. */
export async function addEvents(db: Db, events: readonly NewEvent[]): Promise<('stored' | 'seen before')[]> {
  if (events.length === 0) return []
  const column = <T>(of: (event: NewEvent) => T): T[] => events.map(of)
  // Numbered as they came, and stored in the order of the keys, so that two processes which store the same events never wait for each
  // other in a circle.
  const { rows } = await sql<{ connection: string; dedup_key: string }>`
    with numbered as materialized (
      select nextval(pg_get_serial_sequence('inbox', 'id')) as id, sent.* from (
        select * from unnest(
          ${column((event) => event.connection)}::text[], ${column((event) => event.key)}::text[],
          ${column((event) => event.eventId)}::text[], ${column((event) => event.signedAt)}::timestamptz[],
          ${column((event) => event.receivedAt)}::timestamptz[], ${column((event) => event.body)}::bytea[],
          ${column((event) => event.isTest)}::boolean[]
        ) with ordinality as given (connection, key, event_id, signed_at, received_at, body, is_test, place) order by place
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

/** How many events of a connection wait to be planned or for a decision, also those that a run has taken. */
export async function pendingCount(db: Db, connection: string): Promise<number> {
  const { count } = await db
    .selectFrom('inbox')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('connection', '=', connection)
    .where('state', 'in', ['pending', 'held'])
    .executeTakeFirstOrThrow()
  return count
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
 * Gives a run its events, the oldest first: those that it has already, and fresh ones, up to so many and to so many bytes of
 * bodies (but one in any case). A run that is read again gets the same ones again.
 */
export async function takePending(tx: Db, { runId, ...portion }: PortionOfRun): Promise<StoredEvent[]> {
  const { rows } = await sql<StoredRow>`
    with ${nextPortion({ ...portion, runId })}
    update inbox set run_id = ${runId} from portion
    where inbox.id = portion.id and state = 'pending' and (run_id is null or run_id = ${runId})
    returning inbox.id, event_id, body, received_at, signed_at`.execute(tx)
  return rows.sort((a, b) => a.id - b.id).map(toStoredEvent)
}

/** What the next run would be given, left where it is. */
export async function peekPending(db: Db, portion: Portion): Promise<StoredEvent[]> {
  const { rows } = await sql<StoredRow>`
    with ${nextPortion({ ...portion, runId: null })}
    select inbox.id, event_id, body, received_at, signed_at from inbox join portion on inbox.id = portion.id
    order by inbox.id`.execute(db)
  return rows.map(toStoredEvent)
}

/** Gives a run all events of its connection that wait, also those that other runs took and did not settle: it reads none of them. */
export async function takeAllPending(tx: Db, { connection, runId }: RunOfConnection): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ run_id: runId })
    .where('connection', '=', connection)
    .where('state', '=', 'pending')
    .where(sql<boolean>`run_id is distinct from ${runId}::uuid`)
    .execute()
}

/** The events of a held run that its plan was made from; those that only wait behind it are no part of it. */
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

/** An event that waits for a decision about a held run, and why. `joined`: the plan of that run does not hold it. */
type HeldEvent = {
  readonly id: string
  readonly runId: string
  readonly reason: string
  readonly joined: boolean
}

/** Sets events aside that a run has taken: they wait for a decision about another run. */
export async function holdEvents(
  tx: Db,
  { takenBy, events }: { takenBy: string; events: readonly HeldEvent[] },
): Promise<void> {
  await sql`
    update inbox set state = 'held', run_id = held."runId", reason = held.reason, joined = held.joined
    from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as held(id bigint, "runId" uuid, reason text, joined boolean)
    where inbox.run_id = ${takenBy} and inbox.state = 'pending' and inbox.id = held.id`.execute(tx)
}

/** Sets aside all events of a run that is held. */
export async function holdAllEvents(tx: Db, { runId, reason }: { runId: string; reason: string }): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ state: 'held', reason })
    .where('run_id', '=', runId)
    .where('state', '=', 'pending')
    .execute()
}

/** Leaves events that a run has taken to the next one. */
export async function leaveEvents(tx: Db, { runId, ids }: { runId: string; ids: readonly string[] }): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ run_id: null })
    .where('run_id', '=', runId)
    .where('state', '=', 'pending')
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .execute()
}

/** Gives the events of a held run to the run that makes its plan again. Those that waited behind it are free. */
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

/** Ends the hold on a run's events without a decision: they are in the next run, which comes by itself after a while. */
export async function releaseEvents(tx: Db, runId: string): Promise<void> {
  await tx
    .updateTable('inbox')
    .set({ state: 'pending', reason: null, joined: false })
    .where('run_id', '=', runId)
    .where('state', '=', 'held')
    .execute()
}

/**
 * Ends the work on a run's events once its plan was accepted: their bodies go. Of those in which something was rejected the bodies
 * stay, for a person to look at and to try again. Events that waited behind the run are free.
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

/** In SQL, why nothing follows from an event: of several people, the first one is named. */
const overtakenReason = sql`(
  select min(reason) || case when count(*) > 1 then '; and ' || count(*) - 1 || ' more people of it' else '' end
  from overtaken_events where event = inbox.id)`

/** Sets a run's events aside because a person refused its plan. Events that waited behind the run are free. */
export async function refuseEvents(tx: Db, { runId, reason }: { runId: string; reason: string }): Promise<void> {
  await freeJoined(tx, runId)
  await tx
    .updateTable('inbox')
    .set({ state: 'rejected', reason })
    .where('run_id', '=', runId)
    .where('state', 'in', ['pending', 'held'])
    .execute()
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
 * Frees the events that other runs of the connection took and did not settle: those of runs that failed or were cancelled, and, if the
 * run plans them again, those of held runs.
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

/** Frees the events of runs that failed, or were cancelled, before that time, for another attempt. */
export async function retryEndedEvents(db: Db, { before }: { before: Date }): Promise<void> {
  await sql`
    update inbox set run_id = null from runs
    where inbox.state = 'pending' and runs.id = inbox.run_id and runs.state in ('failed', 'cancelled')
      and runs.finished_at < ${before}`.execute(db)
}

/** Lets the next run take rejected events once more of which something has taken effect since. */
export async function retryDueEvents(db: Db, { now }: { now: Date }): Promise<void> {
  await db
    .updateTable('inbox')
    .set({ state: 'pending', run_id: null, reason: null, retry_at: null })
    .where('state', '=', 'rejected')
    .where('retry_at', '<=', now)
    .where('body', 'is not', null)
    .execute()
}

/** Removes what is done with and older than the days in which a repeated event is known; answers how many. */
export async function forgetEvents(db: Db, { now }: { now: Date }): Promise<number> {
  const forgotten = await db
    .deleteFrom('inbox')
    .where('state', 'in', ['settled', 'dismissed', 'test'])
    .where('received_at', '<', new Date(now.getTime() - repetitionDays * 24 * 60 * 60 * 1000))
    .executeTakeFirst()
  return Number(forgotten.numDeletedRows)
}

/** Names the same event of the same connection in one text. */
function nameOf(connection: string, key: string): string {
  return `${connection} ${key}`
}

type NextPortion = Portion & {
  readonly runId: string | null
}

/** The ids of what a run is to get, as `portion`. */
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
