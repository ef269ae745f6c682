import { sql } from 'kysely'
import { type LeaverFinding, leaverFindings } from '../../contract/control/leavers.ts'
import type { Db } from '../schema.ts'

/** A departure that the platform acknowledged, and of which its personnel is to be read now. */
export type LeaverCheck = {
  readonly id: string
  readonly connection: string
  readonly identityId: string
  /** null: HR states none, or the person was forgotten. */
  readonly email: string | null
}

/** What the personnel showed: that the person has left, or what stands in the way of that or of reading it. */
export type CheckResult = {
  readonly id: string
  readonly visible: boolean
  readonly status: string | null
  readonly finding: LeaverFinding | null
  readonly detail: string | null
}

const unread = Object.entries(leaverFindings).flatMap(([code, finding]) => (finding.unread ? [code] : []))

/** For how long departures are taken: in this time they are read, or another process may take them. */
const claimMinutes = 15

type CheckClaim = {
  readonly connections: readonly string[]
  readonly all: boolean
  readonly limit: number
  readonly now: Date
}

/**
 * Takes the departures whose personnel is due to be read, those first of which nothing is known and then those that were read longest
 * ago; with `all` each that is over and was not seen to be effective. No other process takes them for a while. Of those that were not
 * read by then no look counts.
 */
export async function claimChecks(db: Db, { connections, all, limit, now }: CheckClaim): Promise<LeaverCheck[]> {
  const { rows } = await sql<LeaverCheck>`
    with due as (
      select id from leavers
      where check_at is not null and connection = any(${connections})
        and (check_at <= ${now} or ${all}::boolean and effective_at <= ${now})
      order by finding is not null, checked_at nulls first, check_at limit ${limit} for update skip locked
    ), claimed as (
      update leavers set check_at = greatest(check_at, ${now}::timestamptz + ${claimMinutes} * interval '1 minute')
      from due where leavers.id = due.id
      returning leavers.id, leavers.connection, leavers.identity_id, finding, checked_at
    )
    select claimed.id, claimed.connection, claimed.identity_id as "identityId",
      roster.desired ->> 'email' as email
    from claimed left join roster on roster.connection = claimed.connection and roster.identity_id = claimed.identity_id
    order by claimed.finding is not null, claimed.checked_at nulls first, claimed.connection, claimed.identity_id`.execute(
    db,
  )
  return rows
}

/**
 * Notes what reading showed, and when to read next: after a quarter of an hour, then twice as long each time up to a day, and after a
 * month once a week. That nothing could be read takes nothing back of what was found before.
 */
export async function recordCheckResults(db: Db, results: readonly CheckResult[], now: Date): Promise<void> {
  if (results.length === 0) return
  await sql`
    update leavers set checks = checks + 1, checked_at = ${now}, platform_status = coalesce(found.status, platform_status),
      visible_at = case when found.visible then ${now}::timestamptz end,
      check_at = case
        when found.visible then null
        when acknowledged_at < ${now}::timestamptz - interval '30 days' then ${now}::timestamptz + interval '7 days'
        else ${now}::timestamptz + least(interval '15 minutes' * 2 ^ least(checks, 10), interval '1 day') end,
      finding = case when leavers.finding <> all(${unread}) and found.finding = any(${unread}) then leavers.finding else found.finding end,
      finding_detail = case when leavers.finding <> all(${unread}) and found.finding = any(${unread}) then finding_detail else found.detail end
    from jsonb_to_recordset(${JSON.stringify(results)}::jsonb)
      as found(id bigint, visible boolean, status text, finding text, detail text)
    where leavers.id = found.id and leavers.visible_at is null and leavers.ended_at is null`.execute(db)
}

/** By e-mail in lower case, the key of another person who has that e-mail and is employed, as far as accepted facts say. */
export async function employedWithEmail(db: Db, people: readonly LeaverCheck[]): Promise<ReadonlyMap<string, string>> {
  if (people.length === 0) return new Map()
  const { rows } = await sql<{ email: string; key: string }>`
    select distinct on (asked.email) asked.email, roster.connection || '/' || roster.identity_id as key
    from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as asked(email text, connection text, "identityId" text)
    join roster on lower(roster.desired ->> 'email') = lower(asked.email)
      and (roster.connection <> asked.connection or roster.identity_id <> asked."identityId")
    where roster.desired ->> 'separatedAt' is null and roster.retracted_at is null
    order by asked.email, key`.execute(db)
  return new Map(rows.map(({ email, key }) => [email.toLowerCase(), key]))
}
