import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { Db, StoreSchema } from '../schema.ts'
import type { Condition, ConditionKind } from './conditions.ts'

/** A condition that was absent for a moment only, as between two attempts, is still the same one. */
const absentMs = 30_000
/** A cause that changes back and forth is not reported each time. */
const changeMs = 15 * 60_000
/** A process that has not ended its notification after so long has died or was stopped. */
const claimMs = 60_000
const keepMs = 90 * 24 * 60 * 60_000

export type Alert = Condition & {
  readonly id: string
  readonly raisedAt: Date
  readonly clearedAt: Date | null
  readonly notifiedAt: Date | null
  readonly lastFailure: string | null
}

/** A notification that this process may send. `sentBefore` and `attempt` fence it: what a slower process writes afterwards is refused. */
export type ClaimedNotification = {
  readonly alert: Alert
  readonly type: 'raised' | 'cleared'
  /** How many notifications of this alert were sent before. */
  readonly sentBefore: number
  readonly attempt: number
  /** From then on another process may send it. */
  readonly until: Date
  /** The process that had claimed it did not end it, and may have sent it. */
  readonly abandoned: boolean
}

/** Raises, updates and clears alerts, so that the open ones are what is wrong now. Called twice, or by two processes, it does the same. */
export async function noteConditions(db: Db, found: readonly Condition[], now: Date): Promise<void> {
  const conditions = JSON.stringify(found.map((condition) => ({ ...condition, id: randomUUID() })))
  await sql`
    insert into alerts (id, connection, kind, code, reason, since, people, leavers, run_id, raised_at, next_at)
    select id, connection, kind, code, reason, since, people, leavers, "runId", ${now}, ${now}
    from jsonb_to_recordset(${conditions}::jsonb) as t(id uuid, connection text, kind text, code text, reason text,
      since timestamptz, people integer, leavers integer, "runId" uuid)
    on conflict (connection, kind) where cleared_at is null do update set
      code = excluded.code, reason = excluded.reason, since = excluded.since, people = excluded.people,
      leavers = excluded.leavers, run_id = excluded.run_id, absent_since = null,
      next_at = case when alerts.code is distinct from excluded.code
        then least(alerts.next_at, greatest(${now}, alerts.notified_at + ${seconds(changeMs)})) else alerts.next_at end
    where (alerts.code, alerts.reason, alerts.since, alerts.people, alerts.leavers, alerts.run_id, alerts.absent_since)
      is distinct from (excluded.code, excluded.reason, excluded.since, excluded.people, excluded.leavers, excluded.run_id,
        null::timestamptz)`.execute(db)
  const isAbsent = sql`cleared_at is null and not exists (
    select 1 from jsonb_to_recordset(${conditions}::jsonb) as t(connection text, kind text)
    where t.connection = alerts.connection and t.kind = alerts.kind)`
  await sql`
    update alerts set cleared_at = absent_since, next_at = ${now}
    where ${isAbsent} and absent_since <= ${new Date(now.getTime() - absentMs)}`.execute(db)
  await sql`update alerts set absent_since = ${now} where ${isAbsent} and absent_since is null`.execute(db)
  await sql`
    delete from alerts where next_at is null and cleared_at < ${new Date(now.getTime() - keepMs)}`.execute(db)
}

/** Claims the next notification that is due, of the alert that was raised first; null if there is none. */
export async function claimNotification(db: Db, now: Date): Promise<ClaimedNotification | null> {
  // By time and not by a lock: a process that the system has stopped keeps its locks, and the notification has to go out all the same.
  const until = new Date(now.getTime() + claimMs)
  const { rows } = await sql<AlertRow & { abandoned: boolean }>`
    with due as (
      select id, claimed_until is not null as abandoned from alerts
      where next_at <= ${now} and (claimed_until is null or claimed_until <= ${now})
      order by raised_at, connection, kind limit 1 for update skip locked
    )
    update alerts set attempts = attempts + 1, claimed_until = ${until}
    from due where alerts.id = due.id
    returning alerts.*, due.abandoned`.execute(db)
  const [row] = rows
  if (!row) return null
  const { abandoned, notifications: sentBefore, attempts: attempt } = row
  const alert = toAlert(row)
  return {
    alert,
    type: alert.clearedAt && sentBefore > 0 ? 'cleared' : 'raised',
    sentBefore,
    attempt,
    until,
    abandoned,
  }
}

/** Notes that it was sent. The next one says that the condition is over, or is a reminder. False: another process has taken it over. */
export async function noteSent(
  db: Db,
  claim: ClaimedNotification,
  { now, remindAt }: { now: Date; remindAt: Date },
): Promise<boolean> {
  const { alert, type } = claim
  const changed = sql`code is distinct from ${alert.code}`
  return await endNotification(
    db,
    claim,
    sql`notifications = notifications + 1, attempts = 0, notified_at = ${now}, last_failure = null, next_at = case
      when ${type} = 'cleared' then null
      when cleared_at is not null then ${now}::timestamptz
      when ${changed} then ${new Date(now.getTime() + changeMs)}::timestamptz
      else ${remindAt}::timestamptz end`,
  )
}

/** Notes that it could not be sent, and when to try again. False: another process has taken it over. */
export async function noteUnsent(
  db: Db,
  claim: ClaimedNotification,
  { failure, retryAt }: { failure: string; retryAt: Date },
): Promise<boolean> {
  return await endNotification(db, claim, sql`last_failure = ${failure}, next_at = ${retryAt}`)
}

/** Makes every notification that failed due now, as when the receiver has just taken another one. */
export async function hastenNotifications(db: Db, now: Date): Promise<void> {
  await sql`
    update alerts set next_at = ${now} where next_at > ${now} and attempts > 0 and claimed_until is null`.execute(db)
}

/** The alerts that are not over, by connection and kind. */
export async function openAlerts(db: Db): Promise<Alert[]> {
  const rows = await db
    .selectFrom('alerts')
    .selectAll()
    .where('cleared_at', 'is', null)
    .orderBy('connection')
    .orderBy('kind')
    .execute()
  return rows.map(toAlert)
}

type AlertRow = Selectable<StoreSchema['alerts']>

async function endNotification(
  db: Db,
  { alert, sentBefore, attempt }: ClaimedNotification,
  set: ReturnType<typeof sql>,
): Promise<boolean> {
  const ended = await sql`
    update alerts set claimed_until = null, ${set}
    where id = ${alert.id} and notifications = ${sentBefore} and attempts = ${attempt}`.execute(db)
  return (ended.numAffectedRows ?? 0n) > 0n
}

function toAlert(row: AlertRow): Alert {
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
    notifiedAt: row.notified_at,
    lastFailure: row.last_failure,
  }
}

function seconds(ms: number) {
  return sql`make_interval(secs => ${ms / 1000})`
}
