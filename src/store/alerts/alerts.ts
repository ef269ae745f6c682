import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { Db, StoreSchema } from '../schema.ts'
import type { Condition, ConditionKind } from './condition.ts'

/** A condition that is absent for less than this, as between two attempts, stays the same alert. */
const absentMs = 30_000
/** Minimum time between two notifications about a changed cause. */
const changeMs = 15 * 60_000
const keepMs = 90 * 24 * 60 * 60_000

/** A condition that was raised, and when it was cleared; null while it is open. */
export type Alert = Condition & {
  readonly id: string
  readonly raisedAt: Date
  readonly clearedAt: Date | null
}

/** What one channel was notified of. */
type ChannelNotifications = {
  readonly channel: string
  readonly sent: number
  readonly notifiedAt: Date | null
  readonly lastFailure: string | null
  /** When the next message is due: another attempt, or a reminder. */
  readonly nextAt: Date | null
}

/** An open alert with the state of each channel. */
export type OpenAlert = Alert & { readonly notified: readonly ChannelNotifications[] }

/** Which alerts a channel takes; null: all. */
export type ChannelFilter = {
  readonly name: string
  readonly connections: readonly string[] | null
  readonly kinds: readonly ConditionKind[] | null
}

type ConditionUpdate = {
  readonly channels: readonly ChannelFilter[]
  /** Kinds that could not be checked: their alerts stay unchanged. */
  readonly unknownKinds?: readonly ConditionKind[]
  readonly now: Date
}

/**
 * Raises, updates and clears alerts so that the open ones match the current conditions, and makes notifications due. Idempotent: two
 * processes may call it, and a killed call can be repeated.
 */
export async function recordConditions(
  db: Db,
  current: readonly Condition[],
  { channels, unknownKinds = [], now }: ConditionUpdate,
): Promise<void> {
  const conditions = JSON.stringify(current.map((condition) => ({ ...condition, id: randomUUID() })))
  await sql`
    insert into alerts (id, connection, kind, code, reason, since, people, leavers, run_id, raised_at)
    select id, connection, kind, code, reason, since, people, leavers, "runId", ${now}
    from jsonb_to_recordset(${conditions}::jsonb) as t(id uuid, connection text, kind text, code text, reason text,
      since timestamptz, people integer, leavers integer, "runId" uuid)
    on conflict (connection, kind) where cleared_at is null do update set
      code = excluded.code, reason = excluded.reason, since = excluded.since, people = excluded.people,
      leavers = excluded.leavers, run_id = excluded.run_id, absent_since = null
    where (alerts.code, alerts.reason, alerts.since, alerts.people, alerts.leavers, alerts.run_id, alerts.absent_since)
      is distinct from (excluded.code, excluded.reason, excluded.since, excluded.people, excluded.leavers, excluded.run_id,
        null::timestamptz)`.execute(db)
  // This comes before clearing, so that each channel is notified of every alert that was raised.
  await addNotifications(db, channels, now)
  const isAbsent = sql`cleared_at is null and kind <> all(${unknownKinds}) and not exists (
    select 1 from jsonb_to_recordset(${conditions}::jsonb) as t(connection text, kind text)
    where t.connection = alerts.connection and t.kind = alerts.kind)`
  await sql`
    update alerts set cleared_at = absent_since
    where ${isAbsent} and absent_since <= ${new Date(now.getTime() - absentMs)}`.execute(db)
  await sql`update alerts set absent_since = ${now} where ${isAbsent} and absent_since is null`.execute(db)
  await makeNotificationsDue(db, now)
  await forget(db, channels, now)
}

async function addNotifications(db: Db, channels: readonly ChannelFilter[], now: Date): Promise<void> {
  await sql`
    insert into notifications (alert_id, channel, next_at)
    select alerts.id, t.name, ${now}
    from alerts cross join jsonb_to_recordset(${JSON.stringify(channels)}::jsonb) as t(name text, connections jsonb, kinds jsonb)
    where cleared_at is null and (alerts.kind = 'emergency' or (
      (t.connections is null or t.connections ? alerts.connection) and (t.kinds is null or t.kinds ? alerts.kind)))
    order by alerts.id, t.name
    on conflict do nothing`.execute(db)
}

/** Makes a waiting reminder due earlier if the condition is over or has another cause. */
async function makeNotificationsDue(db: Db, now: Date): Promise<void> {
  const waits = sql`alerts.id = alert_id and sent > 0 and attempts = 0 and claimed_until is null`
  await sql`
    update notifications set next_at = ${now} from alerts
    where ${waits} and cleared_at is not null and next_at > ${now}`.execute(db)
  const changed = sql`greatest(${now}::timestamptz, notified_at + make_interval(secs => ${changeMs / 1000}))`
  await sql`
    update notifications set next_at = ${changed} from alerts
    where ${waits} and cleared_at is null and sent_code is distinct from code and next_at > ${changed}`.execute(db)
}

/** Removes old alerts once each configured channel was notified of their end. */
async function forget(db: Db, channels: readonly ChannelFilter[], now: Date): Promise<void> {
  await sql`
    delete from alerts where cleared_at < ${new Date(now.getTime() - keepMs)} and not exists (
      select 1 from notifications
      where alert_id = alerts.id and next_at is not null and channel = any(${channels.map(({ name }) => name)}))`.execute(
    db,
  )
}

/** Lists the open alerts by connection and kind, with what each channel was sent. */
export async function openAlerts(db: Db): Promise<OpenAlert[]> {
  const rows = await db
    .selectFrom('alerts')
    .selectAll()
    .where('cleared_at', 'is', null)
    .orderBy('connection')
    .orderBy('kind')
    .execute()
  const notified =
    rows.length === 0
      ? []
      : await db
          .selectFrom('notifications')
          .selectAll()
          .where(
            'alert_id',
            'in',
            rows.map(({ id }) => id),
          )
          .orderBy('channel')
          .execute()
  const ofAlerts = Map.groupBy(notified, ({ alert_id: id }) => id)
  return rows.map((row) => ({ ...toAlert(row), notified: (ofAlerts.get(row.id) ?? []).map(toNotified) }))
}

/** An alert as it is read from its table. */
export type AlertRow = Selectable<StoreSchema['alerts']>

/** Maps a row to an alert. */
export function toAlert(row: AlertRow): Alert {
  return {
    id: row.id,
    connection: row.connection,
    kind: row.kind as ConditionKind,
    code: row.code,
    reason: row.reason,
    since: row.since,
    people: row.people,
    leavers: row.leavers,
    runId: row.run_id,
    raisedAt: row.raised_at,
    clearedAt: row.cleared_at,
  }
}

function toNotified(row: Selectable<StoreSchema['notifications']>): ChannelNotifications {
  return {
    channel: row.channel,
    sent: row.sent,
    notifiedAt: row.notified_at,
    lastFailure: row.last_failure,
    nextAt: row.next_at,
  }
}
