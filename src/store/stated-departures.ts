import { type RawBuilder, sql } from 'kysely'
import type { PersonKey } from './keys.ts'
import { employmentStatedAt } from './open-statements.ts'
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
  /** An accepted plan contains it: the leaving date of the person is this one. */
  readonly isAccepted: boolean
  /** HR says without a leaving date that the person has left. */
  readonly isInferredByHr: boolean
  /** What one person proposes to change, until a second one does the same; null: nothing. */
  readonly proposal: DepartureProposal | null
  /** After a restore only the platform had this departure: nobody knows who stated it. It never applies. */
  readonly isLearned: boolean
  /** After a restore the platform had this departure: facts of HR up to then do not confirm it. Null otherwise. */
  readonly unconfirmedUntil: Date | null
}

/** A correction or a withdrawal of a stated departure that waits for a second person. */
export type DepartureProposal = Requester & {
  /** The other last day (`YYYY-MM-DD`); null: the departure is withdrawn. */
  readonly leavingDate: string | null
  readonly reason: string
  readonly at: Date
  /** From then on it has to be proposed again. */
  readonly until: Date
}

/** Lists the stated departures of a connection, by key. */
export async function statedDepartures(db: Db, connection: string): Promise<StatedDeparture[]> {
  return (await select(db, connection).execute()).map(toStated)
}

/** The connections with departures that operators state. */
export async function connectionsWithStated(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('stated_departures').select('connection').distinct().execute()
  return new Set(rows.map(({ connection }) => connection))
}

/** The stated departure of a person; null if there is none. */
export async function statedDeparture(db: Db, { connection, identityId }: PersonKey): Promise<StatedDeparture | null> {
  const row = await select(db, connection).where('stated.identity_id', '=', identityId).executeTakeFirst()
  return row ? toStated(row) : null
}

type StatedRow = Awaited<ReturnType<ReturnType<typeof select>['execute']>>[number]

function toStated({
  proposedBy,
  proposedPrincipal,
  proposedDate,
  proposedReason,
  proposedAt,
  proposedUntil,
  ...stated
}: StatedRow): StatedDeparture {
  if (proposedBy === null || proposedPrincipal === null || proposedReason === null) return { ...stated, proposal: null }
  if (proposedAt === null || proposedUntil === null) return { ...stated, proposal: null }
  const proposal = { leavingDate: proposedDate, by: proposedBy, principal: proposedPrincipal, reason: proposedReason }
  return { ...stated, proposal: { ...proposal, at: proposedAt, until: proposedUntil } }
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
      'proposed_by as proposedBy',
      'proposed_principal as proposedPrincipal',
      'proposed_date as proposedDate',
      'proposed_reason as proposedReason',
      'proposed_at as proposedAt',
      'proposed_until as proposedUntil',
      'is_learned as isLearned',
      'unconfirmed_until as unconfirmedUntil',
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
  | 'identityId'
  | 'leavingDate'
  | 'reason'
  | 'by'
  | 'principal'
  | 'applies'
  | 'isEmergency'
  | 'approvedBy'
  | 'unconfirmedUntil'
> & {
  readonly connection: string
  /** The beginning of the leaving date, and not before the statement. */
  readonly dueAt: Date
  readonly now: Date
}

/** Stores a stated departure in place of an earlier one of the person. */
export async function storeStatedDeparture(tx: Db, departure: NewStatedDeparture): Promise<void> {
  const { connection, identityId, leavingDate, dueAt, reason, by, principal, now } = departure
  const { applies, isEmergency, approvedBy, unconfirmedUntil } = departure
  await dropStatedDeparture(tx, departure)
  await tx
    .insertInto('stated_departures')
    .values({
      ...{ connection, identity_id: identityId, leaving_date: leavingDate, due_at: dueAt, reason },
      ...{ stated_by: by, principal, stated_at: now, applies, is_emergency: isEmergency, approved_by: approvedBy },
      unconfirmed_until: unconfirmedUntil,
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

/** Stores what one person proposes to change about a stated departure, in place of an earlier proposal; null removes that. */
export async function proposeDeparture(
  tx: Db,
  { connection, identityId }: PersonKey,
  proposal: DepartureProposal | null,
): Promise<void> {
  await tx
    .updateTable('stated_departures')
    .set({
      proposed_date: proposal?.leavingDate ?? null,
      proposed_by: proposal?.by ?? null,
      proposed_principal: proposal?.principal ?? null,
      proposed_reason: proposal?.reason ?? null,
      proposed_at: proposal?.at ?? null,
      proposed_until: proposal?.until ?? null,
    })
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .execute()
}

/** The people who alone stated, as an emergency, a departure that a plan sends, or a part of it: the changes for which `only` holds. */
export async function statedAlone(
  db: Db,
  runId: string,
  only: RawBuilder<boolean> = sql`true`,
): Promise<readonly Requester[]> {
  return await db
    .selectFrom('stated_departures as stated')
    .innerJoin('changes', 'changes.identity_id', 'stated.identity_id')
    .innerJoin('runs', (join) =>
      join.onRef('runs.id', '=', 'changes.run_id').onRef('runs.connection', '=', 'stated.connection'),
    )
    .select(['stated.stated_by as by', 'stated.principal'])
    .where('runs.id', '=', runId)
    .where(only)
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

type Confirmation = {
  readonly connection: string
  /** The source states departures by leaving people out, and in no other way. */
  readonly dropsLeavers: boolean
  readonly now: Date
}

/**
 * Ends the stated departures that HR states as well: by a leaving date that has come, also of a person who was hired again, or by a status on
 * or after the day. An absence may be a gap in the export, unless it is all by which the source states a departure. What the store learned
 * from the platform after a restore is no fact of HR, and a status or an absence has to be newer than the statement.
 */
export async function confirmStatedDepartures(
  tx: Db,
  { connection, dropsLeavers, now }: Confirmation,
): Promise<ConfirmedDeparture[]> {
  const isOfHr = sql`not roster.is_by_operator and not roster.inferred`
  const { rows } = await sql<ConfirmedDeparture>`
    delete from stated_departures stated using roster, connections
    where stated.connection = ${connection} and not stated.is_learned and connections.name = stated.connection
      and roster.connection = stated.connection and roster.identity_id = stated.identity_id
      and (stated.unconfirmed_until is null or ${employmentStatedAt} > stated.unconfirmed_until) and (
        ${isOfHr} and (roster.desired ->> 'separatedAt' <= ${now.toISOString()} or roster.cleared_date >= leaving_date)
        or roster.inferred and stated.due_at <= ${now} and ${employmentStatedAt} > stated.stated_at and case when roster.absences = 0
          then not roster.export_is_silent else ${dropsLeavers}::boolean end)
    returning stated.identity_id as "identityId", leaving_date as stated,
      coalesce(left(roster.desired ->> 'separatedAt', 10), cleared_date) as "leavingDate"`.execute(tx)
  return rows
}
