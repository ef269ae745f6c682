import { sql } from 'kysely'
import { pluralize } from '../../identity/pluralize.ts'
import { connectionsNotCompared, refusedDirectories } from '../effective/comparisons.ts'
import { alertedAccounts, alertedFindings } from '../effective/findings.ts'
import { newestForeign } from '../foreign/people.ts'
import { lateLeavers } from '../leavers/late.ts'
import { isPossibleLeaver, selectBlockedPeople } from '../rejects/blocked-people.ts'
import type { Db } from '../schema.ts'
import { runsWithoutStatement, statementFailed } from '../statement/owed.ts'
import { type Condition, type ConditionSettings, minute, peopleText } from './condition.ts'

/** Connections whose newest population statement does not add up, or that have a later run without one. */
export async function unaccounted(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
  const unstated = await runsWithoutStatement(db, connections, { now })
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
export async function blockedLeavers(db: Db, { connections, now }: ConditionSettings): Promise<Condition[]> {
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
export async function foreign(db: Db, { connections }: ConditionSettings): Promise<Condition[]> {
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
export async function leaverLate(db: Db, { maxLeaverHours, now }: ConditionSettings): Promise<Condition[]> {
  return (await lateLeavers(db, { bounds: maxLeaverHours, now })).map(({ name, people, since, runId }) => ({
    connection: name,
    kind: 'leaver_late',
    code: null,
    reason: `${peopleText({ people, leavers: 0 })} left, and the platform has not acknowledged it within ${pluralize(maxLeaverHours.get(name) ?? 0, 'hour')}`,
    since,
    people,
    leavers: people,
    runId,
  }))
}

/** Everybody is compared at least once a day. */
const maxComparisonAgeMs = 48 * 60 * 60_000

/** People whose status on the platform does not match HR's data, and connections that could not be compared for two days. */
export async function notEffective(
  db: Db,
  { connections, maxNotEffective = 0, now }: ConditionSettings,
): Promise<Condition[]> {
  const since = new Date(now.getTime() - maxComparisonAgeMs)
  const old = await connectionsNotCompared(db, { connections, since })
  const findings = (await alertedFindings(db, { connections, above: maxNotEffective, now })).filter(
    ({ name }) => !old.some((other) => other.name === name),
  )
  const about = { kind: 'not_effective', leavers: null, runId: null } as const
  return [
    ...old.map((one): Condition => {
      const when = one.isNever ? 'never compared with the platform, tried since' : 'last compared with the platform'
      const reason = `people were ${when} ${minute(one.since)}: \`rollcall effective\` says why`
      return { ...about, connection: one.name, code: 'not_compared', reason, since: one.since, people: null }
    }),
    ...findings.map(({ name, count: people, since: seenSince }): Condition => {
      const reason = `the status of ${peopleText({ people, leavers: 0 })} on the platform does not match HR's data`
      return { ...about, connection: name, code: null, reason, since: seenSince, people }
    }),
  ]
}

/** Lists of accounts that cannot be compared, or that have accounts of leavers or of people whom HR does not know. */
export async function directoryCondition(
  db: Db,
  { directories = [], maxGhosts = 0, now }: ConditionSettings,
): Promise<Condition[]> {
  const refused = await refusedDirectories(db, directories)
  const about = { kind: 'directory', leavers: null, runId: null } as const
  const ghosts = (await alertedAccounts(db, { directories, above: maxGhosts, now })).filter(
    ({ name }) => !refused.some((other) => other.name === name),
  )
  return [
    ...refused.map(({ name, failure, since }): Condition => {
      const reason = `the list of accounts could not be compared: ${failure}`
      return { ...about, connection: name, code: 'refused', reason, since, people: null }
    }),
    ...ghosts.map(({ name, count, since }): Condition => {
      const reason = `${pluralize(count, 'account')} of people who left, or whom HR does not know, ${count === 1 ? 'is' : 'are'} enabled`
      return { ...about, connection: name, code: null, reason, since, people: null }
    }),
  ]
}
