import { sql } from 'kysely'
import type { IdentityRecord } from '../../identity/record.ts'
import type { PersonKey } from '../keys.ts'
import { employmentStatedAt } from '../open-statements.ts'
import type { Db } from '../schema.ts'
import { changeRoster } from './connections.ts'

type LearnedDepartures = {
  readonly connection: string
  /** People of whom the platform knows something newer. */
  readonly people: readonly string[]
  /** Those of them who left since the backup. */
  readonly leavers: readonly { readonly identityId: string; readonly record: IdentityRecord }[]
  readonly knownUntil: Date
}

/**
 * Stores departures that only the platform had after a restore. HR may have stated them, or an operator of whom the backup knows nothing:
 * once HR brings such a person back, an alert asks. What the store learns about people is no fact of HR that confirms a statement.
 */
export async function storeLearnedDepartures(
  tx: Db,
  { connection, people, leavers, knownUntil }: LearnedDepartures,
): Promise<void> {
  if (leavers.length > 0)
    await sql`
    insert into stated_departures
      (connection, identity_id, leaving_date, due_at, reason, stated_by, principal, stated_at, applies, is_emergency, is_learned)
    select ${connection}, "identityId", left(record ->> 'separatedAt', 10), ${knownUntil}, 'on the platform after a restore', 'rollcall',
      'rollcall', ${knownUntil}, false, false, true
    from jsonb_to_recordset(${JSON.stringify(leavers)}::jsonb) as leaver("identityId" text, record jsonb)
    on conflict (connection, identity_id) do nothing`.execute(tx)
  await sql`
    update stated_departures set unconfirmed_until = ${knownUntil}
    where connection = ${connection} and identity_id = any(${people})`.execute(tx)
}

/** Removes the learned departures that HR has stated since. */
export async function dropConfirmedLearned(tx: Db, connection: string): Promise<void> {
  await sql`
    delete from stated_departures stated using roster, connections
    where stated.connection = ${connection} and stated.is_learned and connections.name = stated.connection
      and roster.connection = stated.connection and roster.identity_id = stated.identity_id
      and roster.desired ->> 'separatedAt' is not null and ${employmentStatedAt} > stated.stated_at`.execute(tx)
}

/** Makes a learned departure in the roster one of an operator, who states it again: an export no longer takes it back. */
export async function claimLearnedDeparture(tx: Db, { connection, identityId }: PersonKey): Promise<void> {
  await changeRoster(tx, connection)
  await sql`
    update roster set is_by_operator = true, inferred = false
    where connection = ${connection} and identity_id = ${identityId} and desired ->> 'separatedAt' is not null`.execute(
    tx,
  )
}
