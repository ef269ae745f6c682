import { sql } from 'kysely'
import type { PersonKey } from './keys.ts'
import type { Db, Requester } from './schema.ts'

/** A departure that an operator states before HR does. */
export type StatedDeparture = {
  readonly identityId: string
  /** The last day of employment (`YYYY-MM-DD`, in the zone of the source). */
  readonly leavingDate: string
  readonly reason: string
  readonly by: string
  /** The principal of that person, for the rule of two people. */
  readonly principal: string
  readonly statedAt: Date
  /** False: it waits for a second person, or to be stated again after a restore. */
  readonly applies: boolean
  /** It was stated by one person who had not to wait for the second one. */
  readonly isEmergency: boolean
  /** The second person; null if none has approved it. */
  readonly approvedBy: string | null
  /** HR's leaving date if it lies ahead; null if HR states none. */
  readonly leavingDateOfHr: string | null
  /** An accepted plan holds it: the leaving date of the person is this one. */
  readonly isAccepted: boolean
  /** HR says without a leaving date that the person has left. */
  readonly isInferredByHr: boolean
}

/** Lists the stated departures of a connection, by key. */
export async function statedDepartures(db: Db, connection: string): Promise<StatedDeparture[]> {
  return await select(db, connection).execute()
}

/** The stated departure of a person; null if there is none. */
export async function statedDeparture(db: Db, { connection, identityId }: PersonKey): Promise<StatedDeparture | null> {
  return (await select(db, connection).where('stated.identity_id', '=', identityId).executeTakeFirst()) ?? null
}

function select(db: Db, connection: string) {
  return db
    .selectFrom('stated_departures as stated')
    .leftJoin('roster', (join) =>
      join.onRef('roster.connection', '=', 'stated.connection').onRef('roster.identity_id', '=', 'stated.identity_id'),
    )
    .select([
      'stated.identity_id as identityId',
      'leaving_date as leavingDate',
      'reason',
      'stated_by as by',
      'principal',
      'stated_at as statedAt',
      'applies',
      'is_emergency as isEmergency',
      'approved_by as approvedBy',
      // A future date that was sent at once is in the record.
      sql<
        string | null
      >`coalesce(roster.deferred_to, case when not roster.is_by_operator then left(roster.desired ->> 'separatedAt', 10) end)`.as(
        'leavingDateOfHr',
      ),
      sql<boolean>`coalesce(roster.is_by_operator, false)`.as('isAccepted'),
      sql<boolean>`coalesce(roster.is_by_operator and roster.inferred, false)`.as('isInferredByHr'),
    ])
    .where('stated.connection', '=', connection)
    .orderBy('stated.identity_id')
}

type NewStatedDeparture = Pick<
  StatedDeparture,
  'identityId' | 'leavingDate' | 'reason' | 'by' | 'principal' | 'applies' | 'isEmergency'
> & {
  readonly connection: string
  /** The beginning of the leaving date, and not before the statement. */
  readonly dueAt: Date
  readonly now: Date
}

/** Stores a stated departure in place of an earlier one of the person. */
export async function storeStatedDeparture(tx: Db, departure: NewStatedDeparture): Promise<void> {
  const { connection, identityId, leavingDate, dueAt, reason, by, principal, applies, isEmergency, now } = departure
  await dropStatedDeparture(tx, departure)
  await tx
    .insertInto('stated_departures')
    .values({
      ...{ connection, identity_id: identityId, leaving_date: leavingDate, due_at: dueAt, reason },
      ...{ stated_by: by, principal, stated_at: now, applies, is_emergency: isEmergency, approved_by: null },
    })
    .execute()
}

/** Records the approval of a second person. */
export async function approveStatedDeparture(
  tx: Db,
  { connection, identityId, by, now }: PersonKey & { readonly by: string; readonly now: Date },
): Promise<void> {
  await tx
    .updateTable('stated_departures')
    .set({ applies: true, approved_by: by, due_at: sql<Date>`greatest(due_at, ${now}::timestamptz)` })
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .execute()
}

/** The people who alone stated, as an emergency, a departure that a plan sends. */
export async function statedAlone(db: Db, runId: string): Promise<readonly Requester[]> {
  return await db
    .selectFrom('stated_departures as stated')
    .innerJoin('changes', 'changes.identity_id', 'stated.identity_id')
    .innerJoin('runs', (join) =>
      join.onRef('runs.id', '=', 'changes.run_id').onRef('runs.connection', '=', 'stated.connection'),
    )
    .select(['stated.stated_by as by', 'stated.principal'])
    .where('runs.id', '=', runId)
    .where('changes.kind', 'in', ['join', 'leave', 'correct'])
    .where('stated.is_emergency', '=', true)
    .where('stated.approved_by', 'is', null)
    .orderBy('stated.identity_id')
    .execute()
}

/** Removes a stated departure. False if there is none. */
export async function dropStatedDeparture(tx: Db, { connection, identityId }: PersonKey): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('stated_departures')
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** A stated departure that ended, and the leaving date of HR that replaced it. */
type ConfirmedDeparture = { readonly identityId: string; readonly stated: string; readonly leavingDate: string }

/**
 * Ends the stated departures that HR states as well: by a leaving date that has come, also of a person who was hired again, or by a status on
 * or after the day. An absence may be a gap in the export.
 */
export async function confirmStatedDepartures(
  tx: Db,
  { connection, now }: { readonly connection: string; readonly now: Date },
): Promise<ConfirmedDeparture[]> {
  const isOfHr = sql`not roster.is_by_operator and not roster.inferred`
  const { rows } = await sql<ConfirmedDeparture>`
    delete from stated_departures stated using roster
    where stated.connection = ${connection} and roster.connection = stated.connection
      and roster.identity_id = stated.identity_id and (
        ${isOfHr} and (roster.desired ->> 'separatedAt' <= ${now.toISOString()} or roster.cleared_date >= leaving_date)
        or roster.inferred and roster.absences = 0 and not roster.export_is_silent and stated.due_at <= ${now})
    returning stated.identity_id as "identityId", leaving_date as stated,
      coalesce(left(roster.desired ->> 'separatedAt', 10), cleared_date) as "leavingDate"`.execute(tx)
  return rows
}

/** In SQL, when HR last stated whether the person of a row of the roster is employed; needs `connections` and `roster`. */
const employmentStatedAt = sql`greatest(roster.employment_as_of,
  case when connections.exports_accepted > roster.exports_before and not roster.export_is_silent then connections.accepted_as_of end)`

/** The stated departures of a connection that need a person. */
type OpenStatements = {
  readonly name: string
  /** How many wait for a second person. */
  readonly waiting: number
  /** How many apply as an emergency without a second person. */
  readonly emergencies: number
  /** How many people HR still states as employed. */
  readonly contradicted: number
  /** How many are due, and in no accepted plan yet. */
  readonly unsent: number
  /** When the first and the last of the emergencies was stated; null: there is none. */
  readonly emergencyTimes: StatementTimes | null
  /** The same of the others that need a person. */
  readonly times: StatementTimes | null
}

type StatementTimes = { readonly since: Date; readonly newest: Date }

type OpenFilter = { readonly connections: readonly string[]; readonly contradictedNights?: number; readonly now: Date }

/** A roster run sends a departure within minutes. */
const unsentMs = 60 * 60_000

/**
 * Counts the stated departures that need a person. HR contradicts one if its newest fact, which is `contradictedNights` days or more after the statement
 * and the leaving date, is that the person is employed, be it until a day that is farther away than that.
 */
export async function openStatements(
  db: Db,
  { connections, contradictedNights = 3, now }: OpenFilter,
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
    select name, count(*) filter (where not applies)::int as waiting, count(*) filter (where is_alone)::int as emergencies,
      count(*) filter (where is_contradicted)::int as contradicted, count(*) filter (where is_unsent)::int as unsent,
      min(stated_at) filter (where is_alone) as emergency_since, max(stated_at) filter (where is_alone) as emergency_newest,
      min(stated_at) filter (where is_open) as since, max(stated_at) filter (where is_open) as newest
    from (
      select *, not applies or is_contradicted or is_unsent as is_open from (
        select stated.*, connections.name, applies and is_emergency and approved_by is null as is_alone,
          coalesce(${isContradicted}, false) as is_contradicted, coalesce(${isUnsent}, false) as is_unsent
        from stated_departures stated join connections on connections.name = stated.connection
          left join roster on roster.connection = stated.connection and roster.identity_id = stated.identity_id
        where stated.connection = any(${connections})) stated) stated
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
