import { sql } from 'kysely'
import type { HeldDeparture } from '../identity/record.ts'
import type { PersonKey } from './keys.ts'
import type { Db } from './schema.ts'

/** A person whose leaving an operator holds back. */
export type HoldBack = {
  readonly identityId: string
  /** The day (`YYYY-MM-DD`, in the source's zone) from which on what HR says counts again. */
  readonly until: string
  readonly reason: string
  readonly by: string
  readonly heldAt: Date
  /** What is held back; null as long as HR says nothing of a leaving. */
  readonly leaving: HeldDeparture | null
}

type HoldBackFilter = {
  readonly connection: string
  readonly today: string
  readonly identityId?: string
}

/** The people of a connection whose leaving is held back: those whose day is after `today`, by key. */
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

/** Holds leavings of a person back from now on. What is over of others is forgotten. */
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

/** Lets what HR says of a person count again. False if nothing was held back. */
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
 * Has the next run of the roster look at a person at once, if that changes what is desired of them: they have left, or a leaving of theirs
 * is held back. False if it changes nothing.
 */
export async function makePersonDue(tx: Db, { connection, identityId, now }: PersonAt): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update roster set due_at = ${now}
    where connection = ${connection} and identity_id = ${identityId}
      and (held_departure is not null or desired ->> 'separatedAt' is not null)`.execute(tx)
  return (numAffectedRows ?? 0n) > 0n
}
