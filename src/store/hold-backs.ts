import { sql } from 'kysely'
import type { HeldDeparture } from '../identity/record.ts'
import type { PersonKey } from './keys.ts'
import type { Db } from './schema.ts'

/** A person whose departure an operator holds back. */
export type HoldBack = {
  readonly identityId: string
  /** The first day (`YYYY-MM-DD`, in the zone of the source) on which HR's data applies again. */
  readonly until: string
  readonly reason: string
  readonly by: string
  readonly heldAt: Date
  /** The departure that is held back; null if HR states none. */
  readonly leaving: HeldDeparture | null
}

type HoldBackFilter = {
  readonly connection: string
  readonly today: string
  readonly identityId?: string
}

/** Lists the hold-backs of a connection whose day is after `today`, by key. */
export async function holdBacks(db: Db, { connection, today, identityId }: HoldBackFilter): Promise<HoldBack[]> {
  let query = db
    .selectFrom('hold_backs')
    .leftJoin('roster', (join) =>
      join
        .onRef('roster.connection', '=', 'hold_backs.connection')
        .onRef('roster.identity_id', '=', 'hold_backs.identity_id'),
    )
    .select(['hold_backs.identity_id', 'until', 'reason', 'held_by', 'held_at', 'roster.held_departure'])
    .where('hold_backs.connection', '=', connection)
    .where('until', '>', today)
    .orderBy('hold_backs.identity_id')
  if (identityId !== undefined) query = query.where('hold_backs.identity_id', '=', identityId)
  return (await query.execute()).map(({ identity_id, until, reason, held_by, held_at, held_departure }) => ({
    identityId: identity_id,
    until,
    reason,
    by: held_by,
    heldAt: held_at,
    leaving: held_departure,
  }))
}

type NewHoldBack = Omit<HoldBack, 'heldAt' | 'leaving'> & {
  readonly connection: string
  readonly now: Date
  readonly today: string
}

/** Adds a hold-back. Expired ones of other people are removed. */
export async function addHoldBack(
  tx: Db,
  { connection, identityId, until, reason, by, now, today }: NewHoldBack,
): Promise<void> {
  await tx.deleteFrom('hold_backs').where('connection', '=', connection).where('until', '<=', today).execute()
  await tx
    .insertInto('hold_backs')
    .values({ connection, identity_id: identityId, until, reason, held_by: by, held_at: now })
    .execute()
}

/** Ends a hold-back. False if there is none. */
export async function dropHoldBack(tx: Db, { connection, identityId }: PersonKey): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('hold_backs')
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

type PersonAt = PersonKey & {
  readonly now: Date
}

/**
 * Makes a person due for the next run of the roster if that changes their desired state: they have left, or their departure is held back.
 * False if it changes nothing.
 */
export async function makePersonDue(tx: Db, { connection, identityId, now }: PersonAt): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update roster set due_at = ${now}
    where connection = ${connection} and identity_id = ${identityId}
      and (held_departure is not null or desired ->> 'separatedAt' is not null)`.execute(tx)
  return (numAffectedRows ?? 0n) > 0n
}
