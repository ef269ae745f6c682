import { sql } from 'kysely'
import { type LeaverFinding, leaverFindings } from '../../contract/control/leavers.ts'
import type { Db } from '../schema.ts'

/** An acknowledged departure whose person is to be read from the platform's personnel. */
export type LeaverCheck = {
  readonly id: string
  readonly connection: string
  readonly identityId: string
  /** Null: HR states none, or the person was forgotten. */
  readonly email: string | null
}

/** What the personnel showed: that the person has left, or why that is not so or not known. */
export type CheckResult = {
  readonly id: string
  readonly visible: boolean
  readonly status: string | null
  readonly finding: LeaverFinding | null
  readonly detail: string | null
}

const unread = Object.entries(leaverFindings).flatMap(([code, finding]) => (finding.unread ? [code] : []))

/** How long a claim lasts; then another process may take the departures. */
const claimMinutes = 15

type CheckClaim = {
  readonly connections: readonly string[]
  readonly all: boolean
  readonly limit: number
  readonly now: Date
}

/**
 * Claims the departures that are due to be checked, unchecked ones first, then those checked longest ago; with `all` also those that are
 * not due yet. No other process gets them while the claim lasts.
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
 * Records the results and the time of the next check: after 15 minutes, then twice as long each time up to a day, and after a month once
 * a week. A failed check does not overwrite an earlier finding.
 */
export async function recordCheckResults(db: Db, results: readonly CheckResult[], now: Date): Promise<void> {
  if (results.length === 0) return
  await sql`
    update leavers set checks = checks + 1, checked_at = ${now}, platform_status = coalesce(result.status, platform_status),
      visible_at = case when result.visible then ${now}::timestamptz end,
      check_at = case
        when result.visible then null
        when acknowledged_at < ${now}::timestamptz - interval '30 days' then ${now}::timestamptz + interval '7 days'
        else ${now}::timestamptz + least(interval '15 minutes' * 2 ^ least(checks, 10), interval '1 day') end,
      finding = case when leavers.finding <> all(${unread}) and result.finding = any(${unread}) then leavers.finding else result.finding end,
      finding_detail = case when leavers.finding <> all(${unread}) and result.finding = any(${unread}) then finding_detail else result.detail end
    from jsonb_to_recordset(${JSON.stringify(results)}::jsonb)
      as result(id bigint, visible boolean, status text, finding text, detail text)
    where leavers.id = result.id and leavers.visible_at is null and leavers.ended_at is null`.execute(db)
}

/** Finds other people with these e-mail addresses who are employed: by address in lower case, the key. */
export async function employedWithEmail(db: Db, people: readonly LeaverCheck[]): Promise<ReadonlyMap<string, string>> {
  if (people.length === 0) return new Map()
  const { rows } = await sql<{ email: string; key: string }>`
    select distinct on (person.email) person.email, roster.connection || '/' || roster.identity_id as key
    from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as person(email text, connection text, "identityId" text)
    join roster on lower(roster.desired ->> 'email') = lower(person.email)
      and (roster.connection <> person.connection or roster.identity_id <> person."identityId")
    where roster.desired ->> 'separatedAt' is null and roster.retracted_at is null
    order by person.email, key`.execute(db)
  return new Map(rows.map(({ email, key }) => [email.toLowerCase(), key]))
}
