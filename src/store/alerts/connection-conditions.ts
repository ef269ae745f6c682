import { sql } from 'kysely'
import { isPaused } from '../connections/pauses.ts'
import { selectFaultsForHr } from '../rejects/hand-over.ts'
import type { Db } from '../schema.ts'
import { processes } from '../workers/processes.ts'
import { type Condition, type ConditionSettings, minute } from './condition.ts'

const minuteMs = 60_000

/** Connections whose data from HR is too old. */
export async function stale(db: Db, settings: ConditionSettings): Promise<Condition[]> {
  return [...(await notRead(db, settings)), ...(await notPushed(db, settings))]
}

/**
 * Connections whose source is too old: the source was not read, or only an old export is left. A source that cannot be read, a
 * failed run and a pause have conditions of their own; after a pause the source may be read for an hour. For a connection that was never
 * read, the time starts with the first slot of its schedule.
 */
async function notRead(db: Db, { freshness, now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; readAt: Date | null; asOf: Date | null; since: Date; oldExport: boolean }>`
    select names.connection as name, newest.at as "readAt", newest.as_of as "asOf",
      coalesce(least(newest.at, newest.as_of), known.at) as since,
      newest.at >= names."readSince" as "oldExport"
    from jsonb_to_recordset(${JSON.stringify(freshness)}::jsonb) as names(connection text, "readSince" timestamptz,
      "asOfSince" timestamptz, "acceptsUnchanged" boolean)
    left join lateral (
      select coalesce(started_at, created_at) as at, case when names."asOfSince" is not null then as_of end as as_of from runs
      where runs.connection = names.connection and feed = 'source' and digest is not null and state <> 'failed'
        and part_of_run_id is null and not options ? 'retract' and (source is not null or names."acceptsUnchanged")
      order by created_at desc, id limit 1) newest on true
    cross join lateral (
      select least(
        (select min(taken_at) from slots where connection = names.connection and slot not like '% %'),
        (select min(created_at) from runs where connection = names.connection and feed = 'source')) as at) known
    where (newest.at < names."readSince" or newest.as_of < names."asOfSince"
        or (newest.at is null and known.at < names."readSince"))
      and not exists (
        select 1 from pauses where pauses.connection = names.connection
          and coalesce(ended_at, until, 'infinity') > ${new Date(now.getTime() - 60 * 60_000)})
      and not exists (
        select 1 from runs
        where runs.connection = names.connection and feed = 'source' and state = 'failed'
          and created_at > coalesce(newest.at, '-infinity'))`.execute(db)
  return rows.map(({ name, readAt, asOf, since, oldExport }) => ({
    connection: name,
    kind: 'stale',
    code: readAt === null ? 'never_read' : oldExport ? 'old_export' : 'not_read',
    reason:
      readAt === null
        ? `HR was never read, although a schedule has existed since ${minute(since)}`
        : oldExport && asOf
          ? `the newest export that HR gave is of ${minute(asOf)}; it was read again ${minute(readAt)}`
          : `HR was last read ${minute(readAt)}`,
    since,
    people: null,
    leavers: null,
    runId: null,
  }))
}

/** Connections whose sender was silent for too long, or has no valid token any more: nobody would leave, without a failure. */
async function notPushed(db: Db, { pushed = [], now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; requestedAt: Date; endedAt: Date | null; hasToken: boolean }>`
    select names.connection as name, max(coalesce(last_used_at, tokens.created_at)) as "requestedAt",
      max(least(revoked_at, expires_at)) as "endedAt", bool_or(is_valid) as "hasToken"
    from jsonb_to_recordset(${JSON.stringify(pushed)}::jsonb) as names(connection text, "requestedSince" timestamptz)
    join access_tokens tokens on tokens.connection = names.connection and role = 'scim'
    cross join lateral (
      select revoked_at is null and coalesce(expires_at > ${now}::timestamptz, true) as is_valid) validity
    where not exists (
      select 1 from pauses where pauses.connection = names.connection
        and coalesce(ended_at, until, 'infinity') > ${now}::timestamptz)
    group by names.connection, names."requestedSince"
    having not bool_or(is_valid) or max(coalesce(last_used_at, tokens.created_at)) < names."requestedSince"`.execute(db)
  return rows.map(({ name, requestedAt, endedAt, hasToken }) => ({
    connection: name,
    kind: 'stale',
    code: hasToken ? 'not_pushed' : 'no_token',
    reason: hasToken
      ? `the identity system was last here ${minute(requestedAt)}; look whether it still pushes`
      : `the identity system has had no valid token since ${minute(endedAt ?? requestedAt)}; "rollcall token create" makes one`,
    since: hasToken ? requestedAt : (endedAt ?? requestedAt),
    people: null,
    leavers: null,
    runId: null,
  }))
}

/** Connections that were paused for too long, or whose events have waited during the pause longer than a delivery may. */
export async function paused(
  db: Db,
  { connections, overdueMinutes, pausedHours, now }: ConditionSettings,
): Promise<Condition[]> {
  const longSince = new Date(now.getTime() - pausedHours * 60 * 60_000)
  const waitSince = new Date(now.getTime() - overdueMinutes * 60_000)
  const { rows } = await sql<{ name: string; since: Date; until: Date | null; events: number; oldest: Date | null }>`
    select pauses.connection as name, since, until, waiting.events, waiting.oldest
    from pauses cross join lateral (
      select count(*)::int as events, min(received_at) as oldest from inbox
      where inbox.connection = pauses.connection and state = 'pending') waiting
    where pauses.connection = any(${connections}) and ${isPaused(now)}
      and (since <= ${longSince} or waiting.oldest <= ${waitSince})
    order by pauses.connection`.execute(db)
  return rows.map(({ name, since, until, events }) => {
    const waiting = events === 0 ? '' : `, and ${events === 1 ? '1 event waits' : `${events} events wait`}`
    const end = until === null ? 'until a person ends it' : `until ${minute(until)}`
    return {
      connection: name,
      kind: 'paused',
      code: events === 0 ? null : 'events_wait',
      reason: `the connection is paused since ${minute(since)}, ${end}${waiting}`,
      since,
      people: null,
      leavers: null,
      runId: null,
    }
  })
}

/**
 * Connections with faults that HR is to correct, while mails do not reach everybody for too long. One that failed is about faults that no
 * mail has listed. Only such a mail has a time to retry; one that some recipients refused does not.
 */
export async function hrMail(db: Db, settings: ConditionSettings): Promise<Condition[]> {
  const { connectionsWithHrMails = [], overdueMinutes, now } = settings
  const { rows } = await sql<{ connection: string; since: Date; failure: string; isSent: boolean }>`
    select distinct fault.connection, mail.failing_since as since, mail.last_failure as failure, mail.retry_at is null as "isSent"
    from hand_over_mails mail, ${selectFaultsForHr(now)}
      and (mail.retry_at is null or fault.mailed_at is null) and mail.failing_since <= ${new Date(now.getTime() - overdueMinutes * minuteMs)}
      and mail.last_failure is not null and fault.connection = any(${connectionsWithHrMails})`.execute(db)
  const ofHr = rows.map(
    ({ connection, since, failure, isSent }): Condition => ({
      ...{ connection, kind: 'hr_mail', code: null, since, people: null, leavers: null, runId: null },
      reason: isSent
        ? `not every address of HR got the last mail: ${failure}; correct in handOver.to what the server refuses for good (by a code that begins with 5); the next mail goes to all; "rollcall problems --for-hr" has the list`
        : `the mail to HR does not get through: ${failure}; "rollcall check" tests its server, "rollcall problems --for-hr" has the list`,
    }),
  )
  return [...ofHr, ...(await weeklyMail(db, settings, new Set(rows.map(({ connection }) => connection))))]
}

/** The first connection of the weekly summary that has no such alert yet, while the summary does not reach everybody for too long. */
async function weeklyMail(
  db: Db,
  { connectionsWithWeeklyMails = [], overdueMinutes, now }: ConditionSettings,
  alerted: ReadonlySet<string>,
): Promise<Condition[]> {
  const connection = connectionsWithWeeklyMails.find((name) => !alerted.has(name))
  if (connection === undefined) return []
  const before = new Date(now.getTime() - overdueMinutes * minuteMs)
  const { rows } = await sql<{ since: Date; failure: string; isSent: boolean }>`
    select failing_since as since, last_failure as failure, retry_at is null as "isSent" from weekly_mails
    where failing_since <= ${before} and last_failure is not null`.execute(db)
  return rows.map(({ since, failure, isSent }) => ({
    ...{ connection, kind: 'hr_mail', code: 'weekly', since, people: null, leavers: null, runId: null },
    reason: isSent
      ? `not every address got the last weekly summary: ${failure}; correct in weekly.to what the server refuses for good (by a code that begins with 5)`
      : `the weekly summary of all connections does not get through: ${failure}; "rollcall check" tests its server`,
  }))
}

/** During a rolling restart, processes have different configurations for this long. */
const restartGraceMs = 5 * 60_000

/** Connections whose settings differ between the processes of this store. */
export async function settingsDiffer(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const all = await processes(db)
  if (all.length < 2) return []
  return connections.flatMap((connection): Condition[] => {
    const digests = new Set(all.map(({ settings }) => settings.connections[connection]))
    const since = new Date(Math.max(...all.map((process) => Date.parse(process.since))))
    if (digests.size === 1 || now.getTime() - since.getTime() < restartGraceMs) return []
    const names = all.map(
      ({ host, pid, settings }) =>
        `${host} ${pid}${settings.connections[connection] === undefined ? ' (without it)' : ''}`,
    )
    const reason = `processes work by different settings of this connection: ${names.join(', ')}; give them the same configuration`
    return [
      { connection, kind: 'settings_differ', code: null, reason, since, people: null, leavers: null, runId: null },
    ]
  })
}
