import { sql } from 'kysely'
import { pluralize, pluralizePeople } from '../../identity/pluralize.ts'
import { isPaused } from '../connections/pauses.ts'
import { alertedAccounts, alertedFindings } from '../effective/findings.ts'
import { refusedDirectories } from '../effective/walks.ts'
import { newestForeign } from '../foreign/people.ts'
import { lateLeavers } from '../leavers/late.ts'
import { maxRecentAttempts } from '../recent-attempts.ts'
import { isPossibleLeaver, selectBlockedPeople } from '../rejects/blocked-people.ts'
import type { Db } from '../schema.ts'
import { statementFailed, unstatedRuns } from '../statement/owed.ts'
import { processes } from '../workers/processes.ts'

/** The kinds of conditions, in the order in which they are listed. */
export const conditionKinds = [
  'blocked',
  'overdue',
  'repeated',
  'held',
  'expiring',
  'run_failed',
  'problems',
  'unaccounted',
  'blockedPeople',
  'foreign',
  'leaver_late',
  'not_effective',
  'directory',
  'stale',
  'paused',
  'settings_differ',
] as const
/** What kind of condition an alert is about. */
export type ConditionKind = (typeof conditionKinds)[number]

/** Something that an operator should look at. A connection has at most one condition of each kind. */
export type Condition = {
  readonly connection: string
  readonly kind: ConditionKind
  /** Distinguishes causes of one kind. */
  readonly code: string | null
  readonly reason: string
  readonly since: Date
  /** How many people wait for this reason, and how many of them have left or have a leaving date to be corrected. */
  readonly people: number | null
  readonly leavers: number | null
  readonly runId: string | null
}

/** What the checks compare with. */
export type ConditionSettings = {
  /** The connections of the configuration. */
  readonly connections: readonly string[]
  /** How long deliveries may fail, or wait for a worker. */
  readonly overdueMinutes: number
  /** How long a connection may be paused before that is an alert. */
  readonly pausedHours: number
  /** Required freshness, for the connections that have a schedule. */
  readonly freshness: readonly Freshness[]
  /**
   * By connection, the maximum number of hours until the platform acknowledges a departure. Connections without a limit have no late
   * leavers.
   */
  readonly leaverBounds: ReadonlyMap<string, number>
  /** How many people of a connection the platform may show otherwise than HR implies. Default: none. */
  readonly maxNotEffective?: number
  /** The lists of accounts of the configuration. */
  readonly directories?: readonly string[]
  /** How many enabled accounts of leavers, or of people whom HR does not know, a directory may have. Default: none. */
  readonly maxGhosts?: number
  readonly now: Date
}

/** How fresh the data from HR of a connection has to be. */
export type Freshness = {
  readonly connection: string
  /** The source has to have been read to its end at this time or later. */
  readonly readSince: Date
  /** Minimum time of the facts that were read; null: not checked. */
  readonly asOfSince: Date | null
  /** Whether a read that found nothing new is sufficient. */
  readonly acceptsUnchanged: boolean
}

type Find = (db: Db, settings: ConditionSettings) => Promise<Condition[]>

/** How the conditions of each kind are found. */
const finders: Readonly<Record<ConditionKind, Find>> = {
  blocked,
  overdue,
  repeated,
  held,
  expiring,
  run_failed: runFailed,
  problems,
  unaccounted,
  blockedPeople: blockedLeavers,
  foreign,
  leaver_late: leaverLate,
  not_effective: notEffective,
  directory: directoryCondition,
  stale,
  paused,
  settings_differ: settingsDiffer,
}

/** The current conditions, and the kinds that could not be checked. */
type ConditionsResult = {
  readonly current: readonly Condition[]
  readonly failures: readonly { readonly kind: ConditionKind; readonly error: unknown }[]
}

/**
 * Finds all current conditions, by connection and kind. They are derived from the store, so no event can be missed. A check that fails
 * does not hide the others.
 */
export async function findConditions(db: Db, settings: ConditionSettings): Promise<ConditionsResult> {
  const current: Condition[] = []
  const failures: { kind: ConditionKind; error: unknown }[] = []
  for (const kind of conditionKinds) {
    try {
      current.push(...(await finders[kind](db, settings)))
    } catch (error) {
      failures.push({ kind, error })
    }
  }
  const order = (a: Condition, b: Condition) =>
    byName(a.connection, b.connection) || conditionKinds.indexOf(a.kind) - conditionKinds.indexOf(b.kind)
  return { current: current.toSorted(order), failures }
}

/** As `findConditions`, but throws if one check fails, because the list would look complete. */
export async function conditions(db: Db, settings: ConditionSettings): Promise<Condition[]> {
  const { current, failures } = await findConditions(db, settings)
  const [failure] = failures
  if (failure) throw failure.error
  return [...current]
}

const leaverKinds = sql`('leave', 'correct')`

type Waiting = { readonly people: number; readonly leavers: number }

/**
 * Sums over batches, as `people` and `leavers`. Batches of joiners contain no leavers, so their changes are not counted. The record of a
 * leaver is deleted, or left out of an upload.
 */
const tally = sql`
  coalesce(sum(deliveries.people - deliveries.confirmed - deliveries.refused), 0)::int as people,
  coalesce(sum(case when deliveries.kind <> 'upsert' then (
    select count(*) from changes
    where changes.run_id = deliveries.run_id and changes.batch = deliveries.batch and changes.state = 'due'
      and changes.kind in ${leaverKinds}) end), 0)::int as leavers`
const stillDue = sql`runs.state = 'delivering' and deliveries.state = 'due' and deliveries.answer is null`

/** Blocked connections. A connection that is no longer configured is included while a run of it is delivering. */
async function blocked(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; code: string | null; reason: string; since: Date } & Waiting>`
    select name, coalesce(blocked_code, blocked_status::text) as code, coalesce(blocked_reason, '') as reason,
      blocked_at as since, waiting.people, waiting.leavers
    from connections cross join lateral (
      select ${tally} from runs join deliveries on deliveries.run_id = runs.id
      where runs.connection = connections.name and ${stillDue}) waiting
    where blocked_at is not null and (name = any(${connections}) or exists (
      select 1 from runs where runs.connection = connections.name and runs.state = 'delivering'))`.execute(db)
  return rows.map(({ name, ...condition }) => ({ ...condition, connection: name, kind: 'blocked', runId: null }))
}

/** Batches that fail, and batches that no worker has picked up since they became due, e.g. because the queue is unreachable. */
async function overdue(db: Db, { connections, overdueMinutes, now }: ConditionSettings): Promise<Condition[]> {
  const latest = new Date(now.getTime() - overdueMinutes * 60_000)
  const due = sql`case when deliveries.lease is null then deliveries.due_at end`
  const { rows } = await sql<
    { name: string; code: string | null; failure: string | null; since: Date; runId: string } & Waiting
  >`
    with late as (
      select deliveries.*, runs.connection, coalesce(failing_since, ${due}) as since
      from deliveries join runs on runs.id = deliveries.run_id
      where ${stillDue} and runs.connection = any(${connections}) and coalesce(failing_since, ${due}) <= ${latest}
    ), waiting as (
      select connection, ${tally} from late deliveries group by connection
    )
    select distinct on (connection) connection as name, last_code as code, last_failure as failure, since,
      run_id as "runId", waiting.people, waiting.leavers
    from late join waiting using (connection)
    order by connection, since, run_id, batch`.execute(db)
  return rows.map(({ name, failure, ...condition }) => {
    const why = failure ?? 'no worker has picked them up'
    const reason = `${peopleText(condition)} could not be delivered for more than ${overdueMinutes} minutes: ${why}`
    return { ...condition, connection: name, kind: 'overdue', reason }
  })
}

/** Attempts within this time are a repetition. */
const repeatedMinutes = 5

/** Batches whose attempts never finish, e.g. because two processes keep taking them over or the process keeps crashing. */
async function repeated(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const within = sql`make_interval(mins => ${sql.lit(repeatedMinutes)})`
  const { rows } = await sql<{ name: string; since: Date; runId: string } & Waiting>`
    with repeated as (
      select deliveries.*, runs.connection, attempted.since
      from deliveries join runs on runs.id = deliveries.run_id
      cross join lateral (select min(at) as since, max(at) as until, count(*) as attempts from unnest(recent_attempts) at) attempted
      where ${stillDue} and runs.connection = any(${connections}) and attempted.attempts = ${sql.lit(maxRecentAttempts)}
        and attempted.until - attempted.since <= ${within}
        and attempted.until between ${now}::timestamptz - ${within} and ${now}::timestamptz + ${within}
    ), waiting as (
      select connection, ${tally} from repeated deliveries group by connection
    )
    select distinct on (connection) connection as name, since, run_id as "runId", waiting.people, waiting.leavers
    from repeated join waiting using (connection)
    order by connection, since, run_id, batch`.execute(db)
  const reason = `a batch was attempted ${maxRecentAttempts} times within ${repeatedMinutes} minutes, and no attempt came to its end`
  return rows.map(({ name, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'repeated',
    code: null,
    reason,
  }))
}

async function held(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<
    {
      name: string
      code: string
      reason: string
      since: Date
      runId: string
      runs: number
      expiresAt: Date | null
    } & Waiting
  >`
    select distinct on (runs.connection) runs.connection as name, runs.id as "runId", coalesce(runs.reason, '') as reason,
      runs.expires_at as "expiresAt",
      (select string_agg(guard ->> 'name', ',' order by guard ->> 'name')
        from json_array_elements(runs.guards) guard where not (guard ->> 'ok')::boolean) as code,
      tally.runs, tally.since, tally.people, tally.leavers
    from runs join (
      select connection, count(*)::int as runs, min(coalesce(started_at, created_at)) as since,
        sum(${planned('join', 'update', 'leave', 'return', 'correct', 'retract')})::int as people,
        sum(${planned('leave', 'correct')})::int as leavers
      from runs where state = 'held' and connection = any(${connections}) group by connection
    ) tally on tally.connection = runs.connection
    where runs.state = 'held'
    order by runs.connection, runs.created_at desc, runs.id`.execute(db)
  return rows.map(({ name, runs, reason, expiresAt, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'held',
    reason:
      runs === 1
        ? `a run waits for an approval${expiryText(expiresAt, now)}: ${reason}`
        : `${runs} runs wait for an approval${expiryText(expiresAt, now)}; the newest: ${reason}`,
  }))
}

/** An expired plan can no longer be approved. It stays held, so that its departures stay visible until a run plans them again. */
function expiryText(expiresAt: Date | null, now: Date): string {
  if (expiresAt === null) return ''
  const at = `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return expiresAt > now ? ` until ${at}` : `, and its plan has expired at ${at}: run again`
}

/** Held runs whose plan has expired or will soon: in the last third of its time, at most one day before. */
async function expiring(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; runId: string; since: Date; expiresAt: Date } & Waiting>`
    with held as (
      select *, expires_at - least(interval '1 day', (expires_at - coalesce(started_at, created_at)) / 3) as ending_at
      from runs where state = 'held' and connection = any(${connections})
    )
    select distinct on (connection) connection as name, id as "runId", ending_at as since, expires_at as "expiresAt",
      ${planned('join', 'update', 'leave', 'return', 'correct', 'retract')} as people,
      ${planned('leave', 'correct')} as leavers
    from held where ending_at <= ${now}
    order by connection, expires_at desc, id`.execute(db)
  return rows.map(({ name, expiresAt, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'expiring',
    code: expiresAt > now ? 'expiring' : 'expired',
    reason:
      expiresAt > now
        ? `the plan of a held run can be approved until ${minute(expiresAt)} only`
        : `the plan of a held run expired ${minute(expiresAt)} and can no longer be approved: run again`,
  }))
}

function planned(...kinds: readonly string[]) {
  return sql.join(
    kinds.map((kind) => sql`coalesce((counts ->> ${kind})::int, 0)`),
    sql` + `,
  )
}

/**
 * Runs that failed without a successful run of the same feed since. A verification (feed `roster`) happens once a week, so a later read
 * of the source also ends this condition.
 */
async function runFailed(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; code: string; reason: string; since: Date; runId: string; runs: number }>`
    with read as (
      select names.connection, feeds.feed, (
        select max(created_at) from runs
        where runs.connection = names.connection and runs.feed = feeds.feed
          and digest is not null and state <> 'failed' and not options ? 'retract') as at
      from unnest(${connections}::text[]) names (connection), unnest(array['source', 'webhook', 'roster']) feeds (feed)
    )
    select distinct on (read.connection) read.connection as name, newest.id as "runId",
      coalesce(newest.failure, 'run_failed') as code, coalesce(newest.reason, 'no reason is known') as reason,
      sum(failed.runs) over (partition by read.connection)::int as runs,
      min(failed.since) over (partition by read.connection) as since
    from read
    left join read source on source.connection = read.connection and source.feed = 'source' and read.feed = 'roster'
    cross join lateral (
      select count(*) as runs, min(coalesce(finished_at, created_at)) as since, max(created_at) as newest from runs
      where runs.connection = read.connection and runs.feed = read.feed and state = 'failed'
        and created_at > coalesce(greatest(read.at, source.at), '-infinity')) failed
    join runs newest on newest.connection = read.connection and newest.feed = read.feed and newest.state = 'failed'
      and newest.created_at = failed.newest
    order by read.connection, newest.created_at desc, newest.id`.execute(db)
  return rows.map(({ name, runs, reason, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'run_failed',
    reason: runs === 1 ? `a run failed: ${reason}` : `${runs} runs failed, one after the other: ${reason}`,
    people: null,
    leavers: null,
  }))
}

/** Leavers that the platform refuses or fails to process. Other refusals do not raise an alert. */
async function problems(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; since: Date } & Waiting>`
    select connection as name, min(first_at) as since, count(*)::int as people, count(*)::int as leavers
    from problems where kind in ${leaverKinds} and connection = any(${connections})
    group by connection`.execute(db)
  return rows.map(({ name, ...condition }) => ({
    ...condition,
    connection: name,
    kind: 'problems',
    code: null,
    reason: `the platform does not take the leaving dates of ${pluralizePeople(condition.people)}`,
    runId: null,
  }))
}

/** Connections whose newest population statement does not add up, or that have a later run without one. */
async function unaccounted(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  const unstated = await unstatedRuns(db, connections)
  const { rows } = await sql<{
    name: string
    since: Date
    runId: string
    differences: readonly string[]
    people: number
  }>`
    select newest.connection as name, newest.made_at as since, newest.run_id as "runId", newest.content -> 'differences' as differences,
      (newest.content -> 'stated' -> 'parts' ->> 'unaccounted')::int
        + (newest.content -> 'platform' -> 'parts' ->> 'unaccounted')::int as people
    from unnest(${connections}::text[]) of_connection (name), lateral (
      select * from statements where statements.connection = of_connection.name order by id desc limit 1) newest
    where not newest.adds_up order by newest.connection`.execute(db)
  const differing = rows.filter(({ name }) => !unstated.some((run) => run.connection === name))
  return [
    ...differing.map(({ name, differences, ...condition }) => ({
      ...condition,
      connection: name,
      kind: 'unaccounted' as const,
      code: null,
      reason: `the population statement does not add up: ${differences.join('; ')}`,
      leavers: null,
    })),
    ...unstated.map((run) => ({
      ...run,
      kind: 'unaccounted' as const,
      code: null,
      reason: statementFailed,
      people: null,
      leavers: null,
    })),
  ]
}

/**
 * People who may have left, but whose departure cannot be read from accepted exports and rejected events, or is held back by an operator.
 * A held plan has its own alert. HR may take weeks to fix a row, so only a new person changes the cause.
 */
async function blockedLeavers(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; since: Date; newest: Date; people: number }>`
    with faults as (
      select fault.connection, fault.identity_id, first_at as at
      from ${selectBlockedPeople(now)} and ${isPossibleLeaver(now)} and accepted_times > 0
      union all
      select inbox.connection, coalesce(fault.identity_id, concat('item ', fault.line, ' of event ', fault.event)), received_at
      from inbox join rejects fault on fault.run_id = inbox.run_id and fault.event = inbox.id::text
      left join roster on roster.connection = inbox.connection and roster.identity_id = fault.identity_id
      where inbox.state = 'rejected' and roster.retracted_at is null and ${isPossibleLeaver(now)}
    )
    select connection as name, min(at) as since, max(at) as newest, count(distinct identity_id)::int as people
    from faults where identity_id is not null and connection = any(${connections})
    group by connection`.execute(db)
  return rows.map(({ name, since, newest, people }) => ({
    connection: name,
    kind: 'blockedPeople',
    code: newest.toISOString(),
    reason: `${peopleText({ people, leavers: 0 })} may have left, and the platform does not know`,
    since,
    people,
    leavers: people,
    runId: null,
  }))
}

/** People that only the platform knows. They may have left, and only an operator can decide, so only a new person changes the cause. */
async function foreign(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
  return (await newestForeign(db, connections)).map(({ name, people, since, newest }) => ({
    connection: name,
    kind: 'foreign',
    code: newest.toISOString(),
    reason: `no accepted export states ${peopleText({ people, leavers: 0 })} whom the platform takes for employed: they may have left`,
    since,
    people,
    leavers: null,
    runId: null,
  }))
}

/** Departures that the platform has not acknowledged in time, for any reason. */
async function leaverLate(db: Db, { leaverBounds, now }: ConditionSettings): Promise<Condition[]> {
  return (await lateLeavers(db, { bounds: leaverBounds, now })).map(({ name, people, since, runId }) => ({
    connection: name,
    kind: 'leaver_late',
    code: null,
    reason: `${peopleText({ people, leavers: 0 })} left, and the platform has not acknowledged it within ${pluralize(leaverBounds.get(name) ?? 0, 'hour')}`,
    since,
    people,
    leavers: people,
    runId,
  }))
}

/** People whom the platform does not show as HR implies. */
async function notEffective(
  db: Db,
  { connections, maxNotEffective = 0, now }: ConditionSettings,
): Promise<Condition[]> {
  return (await alertedFindings(db, { connections, above: maxNotEffective, now })).map(({ name, people, since }) => ({
    connection: name,
    kind: 'not_effective',
    code: null,
    reason: `the platform does not show ${peopleText({ people, leavers: 0 })} as HR implies`,
    since,
    people,
    leavers: null,
    runId: null,
  }))
}

/** Lists of accounts that cannot be compared, or that have accounts of leavers or of people whom HR does not know. */
async function directoryCondition(
  db: Db,
  { directories = [], maxGhosts = 0 }: ConditionSettings,
): Promise<Condition[]> {
  const refused = await refusedDirectories(db, directories)
  const about = { kind: 'directory', leavers: null, runId: null } as const
  const ghosts = (await alertedAccounts(db, { directories, above: maxGhosts })).filter(
    ({ name }) => !refused.some((other) => other.name === name),
  )
  return [
    ...refused.map(({ name, failure, since }): Condition => {
      const reason = `the list of accounts was refused: ${failure}`
      return { ...about, connection: name, code: 'refused', reason, since, people: null }
    }),
    ...ghosts.map(({ name, people, since }): Condition => {
      const reason = `${pluralize(people, 'account')} of people who left, or whom HR does not know, ${people === 1 ? 'is' : 'are'} enabled`
      return { ...about, connection: name, code: null, reason, since, people: null }
    }),
  ]
}

/**
 * Connections whose data from HR is too old: the source was not read, or only an old export is left. A source that cannot be read, a
 * failed run and a pause have conditions of their own; after a pause the source may be read for an hour. For a connection that was never
 * read, the time starts with the first slot of its schedule.
 */
async function stale(db: Db, { freshness, now }: ConditionSettings): Promise<Condition[]> {
  const { rows } = await sql<{ name: string; readAt: Date | null; asOf: Date | null; since: Date; oldExport: boolean }>`
    select names.connection as name, newest.at as "readAt", newest.as_of as "asOf",
      coalesce(least(newest.at, newest.as_of), known.at) as since,
      newest.at >= names."readSince" as "oldExport"
    from jsonb_to_recordset(${JSON.stringify(freshness)}::jsonb) as names(connection text, "readSince" timestamptz,
      "asOfSince" timestamptz, "acceptsUnchanged" boolean)
    left join lateral (
      select coalesce(started_at, created_at) as at, case when names."asOfSince" is not null then as_of end as as_of from runs
      where runs.connection = names.connection and feed = 'source' and digest is not null and state <> 'failed'
        and not options ? 'retract' and (source is not null or names."acceptsUnchanged")
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

/** Connections that were paused for too long, or whose events have waited during the pause longer than a delivery may. */
async function paused(
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

/** During a rolling restart, processes have different configurations for this long. */
const restartGraceMs = 5 * 60_000

/** Connections whose settings differ between the processes of this store. */
async function settingsDiffer(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
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

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function peopleText({ people, leavers }: Waiting): string {
  const all = pluralizePeople(people)
  return leavers === 0 ? all : `${all} (${leavers} ${leavers === 1 ? 'leaver' : 'leavers'})`
}

function byName(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
