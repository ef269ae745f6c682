import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type Alert, type AlertRow, toAlert } from './alerts.ts'

/** How long a process may take to send a notification before another one takes it over. */
const claimMs = 60_000
const messagesKeptMs = 24 * 60 * 60_000

/** A notification that this process may send. `sentBefore` and `attempt` fence it: what a slower process writes afterwards is refused. */
export type ClaimedNotification = {
  readonly channel: string
  readonly alert: Alert
  readonly type: 'raised' | 'cleared'
  /** How many notifications of this alert the channel was sent before. */
  readonly sentBefore: number
  readonly attempt: number
  /** From then on another process may send it. */
  readonly until: Date
}

type NotificationClaimInput = {
  readonly channel: string
  readonly limit: number
  readonly now: Date
}

/** Claims the notifications of a channel that are due, at most `limit`, those of the alerts that were raised first. */
export async function claimNotifications(
  db: Db,
  { channel, limit, now }: NotificationClaimInput,
): Promise<ClaimedNotification[]> {
  // By time and not by a lock: a process that the system has stopped keeps its locks, and the notification has to go out all the same.
  const until = new Date(now.getTime() + claimMs)
  const { rows } = await sql<AlertRow & { sent: number; attempts: number }>`
    with due as (
      select alert_id from notifications join alerts on alerts.id = alert_id
      where channel = ${channel} and next_at <= ${now} and (claimed_until is null or claimed_until <= ${now})
      order by raised_at, connection, kind limit ${limit} for update of notifications skip locked
    )
    update notifications set attempts = attempts + 1, claimed_until = ${until}
    from due join alerts on alerts.id = due.alert_id
    where notifications.alert_id = due.alert_id and channel = ${channel}
    returning alerts.*, notifications.sent, notifications.attempts`.execute(db)
  return rows.map((row) => {
    const alert = toAlert(row)
    return {
      channel,
      alert,
      type: alert.clearedAt && row.sent > 0 ? 'cleared' : 'raised',
      sentBefore: row.sent,
      attempt: row.attempts,
      until,
    }
  })
}

/** The notifications of one message, with the time of the reminder for each alert. */
type SentMessage = {
  readonly claims: readonly (ClaimedNotification & { readonly remindAt: Date })[]
  /** What failed although the message was sent, e.g. one of several recipients does not exist. */
  readonly failure?: string | null
  readonly now: Date
}

/**
 * Records that the notifications were sent in one message. The next one is a reminder or says that the condition is over. False: another
 * process has taken them over.
 */
export async function recordSent(db: Db, { claims, failure = null, now }: SentMessage): Promise<boolean> {
  const [first] = claims
  if (!first) return false
  const { channel } = first
  const ended = JSON.stringify(
    claims.map(({ alert, type, sentBefore, attempt, remindAt }) => ({
      ...{ id: alert.id, code: alert.code, type, before: sentBefore, attempt, remindAt },
    })),
  )
  return await db.transaction().execute(async (tx) => {
    const { numAffectedRows } = await sql`
      update notifications set claimed_until = null, sent = sent + 1, attempts = 0, sent_code = t.code, notified_at = ${now},
        last_failure = ${failure},
        next_at = case when t.type = 'cleared' then null when alerts.cleared_at is not null then ${now} else t."remindAt" end
      from jsonb_to_recordset(${ended}::jsonb) as t(id uuid, code text, type text, before integer, attempt integer,
        "remindAt" timestamptz) join alerts on alerts.id = t.id
      where alert_id = t.id and channel = ${channel} and sent = before and attempts = attempt`.execute(tx)
    await tx.insertInto('alert_messages').values({ channel, sent_at: now }).execute()
    await tx
      .deleteFrom('alert_messages')
      .where('sent_at', '<', new Date(now.getTime() - messagesKeptMs))
      .execute()
    return (numAffectedRows ?? 0n) > 0n
  })
}

/** Records a failure and the time of the next attempt. False: another process has taken the notification over. */
export async function recordUnsent(
  db: Db,
  { channel, alert, sentBefore, attempt }: ClaimedNotification,
  { failure, retryAt }: { failure: string; retryAt: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('notifications')
    .set({ claimed_until: null, last_failure: failure, next_at: retryAt })
    .where('alert_id', '=', alert.id)
    .where('channel', '=', channel)
    .where('sent', '=', sentBefore)
    .where('attempts', '=', attempt)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Makes all failed notifications of a channel due now, because its receiver has just accepted another one. */
export async function makeNotificationsDueNow(db: Db, { channel, now }: { channel: string; now: Date }): Promise<void> {
  await sql`
    update notifications set next_at = ${now}
    where channel = ${channel} and next_at > ${now} and attempts > 0 and claimed_until is null`.execute(db)
}

/** Counts the messages that a channel was sent since then. */
export async function countMessages(db: Db, { channel, since }: { channel: string; since: Date }): Promise<number> {
  const { count } = await db
    .selectFrom('alert_messages')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('channel', '=', channel)
    .where('sent_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}
