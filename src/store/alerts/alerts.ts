import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { Db, StoreSchema } from '../schema.ts'
import type { Condition, ConditionKind } from './conditions.ts'

/** A condition that was absent for a moment only, as between two attempts, is still the same one. */
const absentMs = 30_000
/** A cause that changes back and forth is not reported each time. */
const changeMs = 15 * 60_000
const keepMs = 90 * 24 * 60 * 60_000

export type Alert = Condition & {
  readonly id: string
  readonly raisedAt: Date
  readonly clearedAt: Date | null
}

/** How far one channel was notified of an alert. */
type Notified = {
  readonly channel: string
  readonly sent: number
  readonly notifiedAt: Date | null
  readonly lastFailure: string | null
  /** When the next message is due: another attempt, or a reminder. */
  readonly nextAt: Date | null
}

export type OpenAlert = Alert & { readonly notified: readonly Notified[] }

/** Which alerts a channel takes; null: all. */
export type ChannelFilter = {
  readonly name: string
  readonly connections: readonly string[] | null
  readonly kinds: readonly ConditionKind[] | null
}

type ConditionUpdate = {
  readonly channels: readonly ChannelFilter[]
  /** The kinds that could not be looked for: their alerts stay as they are. */
  readonly unknownKinds?: readonly ConditionKind[]
  readonly now: Date
}

/**
 * Raises, updates and clears alerts, so that the open ones are what is wrong now, and makes due what each channel is to be notified of.
 * Called twice, by two processes, or killed at any point and called again, it does the same.
 */
export async function recordConditions(
  db: Db,
  found: readonly Condition[],
  { channels, unknownKinds = [], now }: ConditionUpdate,
): Promise<void> {
  const conditions = JSON.stringify(found.map((condition) => ({ ...condition, id: randomUUID() })))
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
  // Before an alert can be cleared, so that each channel hears of every alert from its beginning.
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
    where cleared_at is null and (t.connections is null or t.connections ? alerts.connection)
      and (t.kinds is null or t.kinds ? alerts.kind)
    order by alerts.id, t.name
    on conflict do nothing`.execute(db)
}

/** What waits for its reminder is due earlier if the condition is over by now, or has another cause. */
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

/** An alert is kept until each channel of the configuration has heard that it is over. */
async function forget(db: Db, channels: readonly ChannelFilter[], now: Date): Promise<void> {
  await sql`
    delete from alerts where cleared_at < ${new Date(now.getTime() - keepMs)} and not exists (
      select 1 from notifications
      where alert_id = alerts.id and next_at is not null and channel = any(${channels.map(({ name }) => name)}))`.execute(
    db,
  )
}

/** The alerts that are not over, by connection and kind, with what each channel was sent. */
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
  return rows.map((row) => ({
    ...toAlert(row),
    notified: notified.flatMap((one) => (one.alert_id === row.id ? [toNotified(one)] : [])),
  }))
}

export type AlertRow = Selectable<StoreSchema['alerts']>

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

function toNotified(row: Selectable<StoreSchema['notifications']>): Notified {
  return {
    channel: row.channel,
    sent: row.sent,
    notifiedAt: row.notified_at,
    lastFailure: row.last_failure,
    nextAt: row.next_at,
  }
}
