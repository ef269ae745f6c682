import { type RawBuilder, sql } from 'kysely'
import { recordAuditEntry, rollcall } from '../audit/trail.ts'
import type { Db } from '../schema.ts'
import { isPossibleLeaver } from './blocked-people.ts'

/** A fault that HR has to correct. */
export type HandOverFault = {
  readonly connection: string
  readonly fingerprint: string
  readonly identityId: string | null
  /** The person may have left, and is not separated by then. */
  readonly leaver: boolean
  readonly cellOnly: boolean
  /** The whole row is used, and two of its cells contradict each other. */
  readonly contradicts: boolean
  readonly column: string | null
  readonly cause: string | null
  readonly expected: string | null
  /** The rejected event that has the fault; null: an export has it. */
  readonly event: string | null
  /** A personal value. */
  readonly cell: string | null
  readonly reason: string
  /** The name of the export, or the event as its sender or else Rollcall calls it. */
  readonly source: string | null
  /** The line of the export, or the item of the event. */
  readonly line: number
  /** How many rows have the fault. */
  readonly times: number
  readonly firstAt: Date
  /** No mail to HR has listed it yet. */
  readonly isNew: boolean
}

type FaultFilter = {
  /** Those of the configuration: the store keeps the faults of one that was removed or renamed. */
  readonly connections: readonly string[]
  readonly now: Date
}

/**
 * In SQL, the faults of the newest exports and of rejected events that HR has to correct, as `fault`. Left out are those of retracted
 * people, and of events about people of whom something newer is known, unless that hides a departure. What an event itself states of them
 * is no newer: its own time is before that of its arrival or, if its sender's clock is ahead, among those that its run has read.
 */
export function selectFaultsForHr(now: Date): RawBuilder<unknown> {
  return sql`
    (
      select connection, fingerprint, identity_id, may_leave, cell_only, field, column_name, cause, expected, cell, reason, source, line,
        times, first_at, mailed_at, null::text as event, null::timestamptz as known_at
      from known_faults where is_blocking
      union all
      select inbox.connection, 'event ' || seq, identity_id collate "C", may_leave, cell_only, null, column_name, cause, expected, null,
        rejects.reason, 'event ' || coalesce(event_id, event), line, 1, received_at, mailed_at, event, greatest(received_at, as_of)
      from inbox join rejects on rejects.run_id = inbox.run_id and event = inbox.id::text join runs on runs.id = inbox.run_id
      where inbox.state = 'rejected' and rejects.retry_at is null
    ) fault
    left join roster on roster.connection = fault.connection and roster.identity_id = fault.identity_id
    where roster.retracted_at is null
      and (event is null or coalesce(roster.as_of <= fault.known_at, true) or ${isPossibleLeaver(now)})`
}

/** The faults that HR has to correct, possible leavers first, then the oldest. */
export async function listHandOverFaults(db: Db, { connections, now }: FaultFilter): Promise<HandOverFault[]> {
  const { rows } = await sql<HandOverFault>`
    select fault.connection, fingerprint, fault.identity_id as "identityId", ${isPossibleLeaver(now)} as leaver, cell_only as "cellOnly",
      coalesce(field = 'employment', false) as contradicts, column_name as "column", cause, expected, cell, reason, source, line, times,
      first_at as "firstAt", mailed_at is null as "isNew", event
    from ${selectFaultsForHr(now)} and fault.connection = any(${connections})
    order by leaver desc, first_at, fault.connection collate "C", source collate "C", line, fingerprint collate "C"`.execute(
    db,
  )
  return rows
}

/** Whether HR has to correct anything that no mail has listed. */
export async function hasNewFaultsForHr(db: Db, { connections, now }: FaultFilter): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (
      select 1 from ${selectFaultsForHr(now)} and mailed_at is null and fault.connection = any(${connections})) as found`.execute(
    db,
  )
  return rows[0]?.found ?? false
}

/** How long a process may take to make and send a mail before another one takes it over: longer than it waits for the server. */
const claimMs = 12 * 60_000

/**
 * In SQL, whether a slot was dealt with: this one, or a later one of a process whose settings or clock differ. A slot that lies further
 * ahead comes from a clock that was wrong.
 */
const isDone = (slot: string) =>
  sql<boolean>`slot::timestamp between ${slot}::timestamp and ${slot}::timestamp + interval '7 days'`

type MailSlot = {
  /** The newest slot of the schedule. */
  readonly slot: string
  readonly now: Date
}

/** The right to deal with a slot; a slower process whose claim has run out is refused. */
export type MailClaim = { readonly slot: string; readonly attempts: number }

/**
 * Claims the slot. Null: it was dealt with, another process deals with it, or a failed mail is to be tried later. The first slot ever is
 * passed over, since nothing was missed before it.
 */
export async function claimMail(db: Db, { slot, now }: MailSlot): Promise<MailClaim | null> {
  const until = new Date(now.getTime() + claimMs)
  await db
    .insertInto('hand_over_mails')
    .values({ slot, claimed_until: null, retry_at: null, sent_at: null, failing_since: null, last_failure: null })
    .onConflict((c) => c.doNothing())
    .execute()
  const { rows } = await sql<MailClaim>`
    update hand_over_mails set claimed_until = ${until}, attempts = attempts + 1
    where not ${isDone(slot)} and (claimed_until is null or claimed_until <= ${now}) and (retry_at is null or retry_at <= ${now})
    returning ${slot}::text as slot, attempts`.execute(db)
  return rows[0] ?? null
}

type SentMail = {
  /** The faults that the mail lists; none if nothing was new and no mail was sent. */
  readonly faults: readonly Pick<HandOverFault, 'connection' | 'fingerprint' | 'event'>[]
  /** Whether the mail has personal values. */
  readonly values: boolean
  /** What failed although the mail was sent, such as one of several recipients. */
  readonly failure?: string | null
  readonly now: Date
}

/** Closes the slot. False: another process has taken it over. */
export async function closeMail(
  db: Db,
  claim: MailClaim,
  { faults, values, failure = null, now }: SentMail,
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('hand_over_mails')
      .set({
        slot: claim.slot,
        claimed_until: null,
        attempts: 0,
        retry_at: null,
        ...(faults.length > 0 ? { sent_at: now, ...failedAt(failure, now) } : failedBefore),
      })
      .where('attempts', '=', claim.attempts)
      .where('slot', '<>', claim.slot)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    if (faults.length === 0) return true
    await sql`
      update known_faults set mailed_at = ${now}
      from jsonb_to_recordset(${JSON.stringify(faults.map(({ connection, fingerprint }) => ({ connection, fingerprint })))}::jsonb)
        as listed(connection text, fingerprint text)
      where known_faults.connection = listed.connection and known_faults.fingerprint = listed.fingerprint
        and mailed_at is null`.execute(tx)
    await sql`
      update inbox set mailed_at = ${now}
      where id = any(${faults.flatMap(({ event }) => event ?? [])}::bigint[]) and mailed_at is null`.execute(tx)
    await recordAuditEntry(tx, {
      act: 'hr.mailed',
      connection: null,
      by: rollcall,
      details: { entries: faults.length, values },
      now,
    })
    return true
  })
}

/** Leaves the slot open, to be tried again at `retryAt`. */
export async function postponeMail(
  db: Db,
  claim: MailClaim,
  { failure, retryAt, now }: { readonly failure: string; readonly retryAt: Date; readonly now: Date },
): Promise<void> {
  await db
    .updateTable('hand_over_mails')
    .set({ claimed_until: null, retry_at: retryAt, ...failedAt(failure, now) })
    .where('attempts', '=', claim.attempts)
    .execute()
}

/** Leaves the slot open for the next check, as if it had not been claimed. */
export async function releaseMail(db: Db, claim: MailClaim): Promise<void> {
  await db
    .updateTable('hand_over_mails')
    .set({ claimed_until: null, attempts: claim.attempts - 1 })
    .where('attempts', '=', claim.attempts)
    .execute()
}

/**
 * The same columns if nothing was new. A mail that failed has nothing to bring any more; one that some recipients refused was not repeated,
 * so that is still so. Only the former has a time to retry.
 */
const failedBefore = {
  failing_since: sql<Date | null>`case when retry_at is null then failing_since end`,
  last_failure: sql<string | null>`case when retry_at is null then last_failure end`,
}

/** The columns that say since when mails fail, and why; null: the last one did not. */
function failedAt(failure: string | null, now: Date) {
  return {
    failing_since: failure === null ? null : sql<Date>`coalesce(failing_since, ${now})`,
    last_failure: failure,
  }
}
