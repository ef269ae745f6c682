import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** In SQL, when HR last stated whether the person of a row of the roster is employed; needs `connections` and `roster`. */
export const employmentStatedAt = sql`greatest(roster.employment_as_of,
  case when connections.exports_accepted > roster.exports_before and not roster.export_is_silent then connections.accepted_as_of end)`

/** The stated departures of a connection that need a person. */
type OpenStatements = {
  readonly name: string
  /** How many people need somebody for a reason other than an emergency. */
  readonly people: number
  /** How many wait for a second person, or a change of them does. */
  readonly waiting: number
  /** How many apply as an emergency without a second person. */
  readonly emergencies: number
  /** How many people HR still states as employed. */
  readonly contradicted: number
  /** How many are due, and in no accepted plan yet. */
  readonly unsent: number
  /** How many were learned from the platform after a restore, of people whom HR has brought back since. */
  readonly broughtBack: number
  /** When the first and the last of the emergencies was stated; null: there is none. */
  readonly emergencyTimes: StatementTimes | null
  /** The same of the others that need a person. */
  readonly times: StatementTimes | null
}

type StatementTimes = { readonly since: Date; readonly newest: Date }

type OpenFilter = {
  readonly connections: readonly string[]
  /** Connections without the rule of two people: nobody waits for a second person to change a departure. Default: none. */
  readonly connectionsWithoutTwoPeople?: readonly string[]
  readonly contradictedNights?: number
  readonly now: Date
}

/** A roster run sends a departure within minutes. */
const unsentMs = 60 * 60_000

/**
 * Counts the stated departures that need a person. HR contradicts one if its newest fact, which is `contradictedNights` days or more after the statement
 * and the leaving date, is that the person is employed, be it until a day that is farther away than that. A change that waits counts from when it
 * was proposed.
 */
export async function openStatements(
  db: Db,
  { connections, connectionsWithoutTwoPeople = [], contradictedNights = 3, now }: OpenFilter,
): Promise<OpenStatements[]> {
  const day = (instant: ReturnType<typeof sql>) => sql`(${instant} at time zone 'UTC')::date`
  const isContradicted = sql`roster.is_by_operator and not roster.inferred and roster.absences = 0
    and (roster.deferred_to is null or roster.deferred_to::date - ${day(sql`${now}::timestamptz`)} > ${contradictedNights})
    and ${day(employmentStatedAt)} - greatest(${day(sql`stated_at`)}, leaving_date::date) >= ${contradictedNights}`
  const accepted = sql`roster.desired ->> 'separatedAt'`
  // A statement with another day replaces an accepted one.
  const isUnsent = sql`applies and roster.retracted_at is null and ${new Date(now.getTime() - unsentMs)} >= case
    when not roster.is_by_operator and coalesce(${accepted} > ${now.toISOString()}, true) then stated.due_at
    when roster.is_by_operator and left(${accepted}, 10) <> leaving_date then stated_at end`
  const { rows } = await sql<OpenStatementsRow>`
    select name, count(*) filter (where is_open)::int as people, count(*) filter (where waits)::int as waiting, count(*) filter (where is_back)::int as "broughtBack", count(*) filter (where is_alone)::int as emergencies,
      count(*) filter (where is_contradicted)::int as contradicted, count(*) filter (where is_unsent)::int as unsent,
      min(stated_at) filter (where is_alone) as emergency_since, max(stated_at) filter (where is_alone) as emergency_newest,
      min(open_since) filter (where is_open) as since, max(open_newest) filter (where is_open) as newest
    from (
      select *, waits or is_back or is_contradicted or is_unsent as is_open,
        case when is_proposed and not (is_back or is_contradicted or is_unsent) then proposed_at else stated_at end as open_since,
        case when is_proposed then proposed_at else stated_at end as open_newest
      from (select *, not is_learned and (not applies or is_proposed) as waits from (
        select stated.*, connections.name, applies and is_emergency and approved_by is null as is_alone,
          applies and not (connections.name = any(${connectionsWithoutTwoPeople})) and coalesce(proposed_until > ${now}, false) as is_proposed,
          is_learned and roster.desired ->> 'separatedAt' is null as is_back,
          coalesce(${isContradicted}, false) as is_contradicted, coalesce(${isUnsent}, false) as is_unsent
        from stated_departures stated join connections on connections.name = stated.connection
          left join roster on roster.connection = stated.connection and roster.identity_id = stated.identity_id
        where stated.connection = any(${connections})) stated) stated) stated
    group by name order by name`.execute(db)
  return rows.map(({ emergency_since, emergency_newest, since, newest, ...counts }) => ({
    ...counts,
    emergencyTimes: timesOf(emergency_since, emergency_newest),
    times: timesOf(since, newest),
  }))
}

type OpenStatementsRow = Omit<OpenStatements, 'emergencyTimes' | 'times'> & {
  readonly [K in 'emergency_since' | 'emergency_newest' | 'since' | 'newest']: Date | null
}

function timesOf(since: Date | null, newest: Date | null): StatementTimes | null {
  return since && newest && { since, newest }
}
