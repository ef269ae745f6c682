import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** How long a process may take to make and send a summary before another one takes it over: longer than it waits for the server. */
const claimMs = 12 * 60_000

/**
 * In SQL, whether a slot was mailed under another name: under an hour of the same day that the settings no longer have, or by a process
 * whose clock is ahead. A slot that lies further ahead comes from a clock that was wrong.
 */
const isMailed = (slot: string) =>
  sql<boolean>`slot::timestamp between ${slot}::timestamp - interval '12 hours' and ${slot}::timestamp + interval '7 days'`

/** The right to mail the summary of a slot; a slower process whose claim has run out is refused. */
export type WeeklyClaim = {
  readonly slot: string
  /** The slot that was mailed before it. */
  readonly before: string
  readonly attempts: number
}

/**
 * Claims the summary of the newest slot. Null: it was mailed, another process mails it, or a failed one is to be tried later. The first
 * slot ever is passed over, since nothing was missed before it.
 */
export async function claimWeekly(
  db: Db,
  { slot, now }: { readonly slot: string; readonly now: Date },
): Promise<WeeklyClaim | null> {
  const until = new Date(now.getTime() + claimMs)
  await sql`insert into weekly_mails (slot) values (${slot}) on conflict do nothing`.execute(db)
  const { rows } = await sql<WeeklyClaim>`
    update weekly_mails set claimed_until = ${until}, attempts = attempts + 1
    where not ${isMailed(slot)}
      and (claimed_until is null or claimed_until <= ${now}) and (retry_at is null or retry_at <= ${now})
    returning ${slot}::text as slot, slot as before, attempts`.execute(db)
  return rows[0] ?? null
}

/** Records that the summary was sent, with what failed although it was, such as one of several recipients. Changes nothing if another process has taken it over. */
export async function closeWeekly(
  db: Db,
  { slot, attempts }: WeeklyClaim,
  { failure, now }: { readonly failure: string | null; readonly now: Date },
): Promise<void> {
  await sql`
    update weekly_mails set slot = ${slot}, claimed_until = null, attempts = 0, retry_at = null, sent_at = ${now},
      failing_since = ${failure === null ? null : sql`coalesce(failing_since, ${now}::timestamptz)`}, last_failure = ${failure}
    where attempts = ${attempts} and slot <> ${slot}`.execute(db)
}

/** Leaves the summary open, to be tried again at `retryAt`. */
export async function postponeWeekly(
  db: Db,
  { attempts }: WeeklyClaim,
  { failure, retryAt, now }: { readonly failure: string; readonly retryAt: Date; readonly now: Date },
): Promise<void> {
  await sql`
    update weekly_mails set claimed_until = null, retry_at = ${retryAt}, last_failure = ${failure},
      failing_since = coalesce(failing_since, ${now})
    where attempts = ${attempts}`.execute(db)
}

/** Leaves the summary open for the next check, as if it had not been claimed. */
export async function releaseWeekly(db: Db, { attempts }: WeeklyClaim): Promise<void> {
  await sql`update weekly_mails set claimed_until = null, attempts = attempts - 1 where attempts = ${attempts}`.execute(
    db,
  )
}
