import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { IdentityRecord } from '../../identity/record.ts'
import { clockBound } from '../has-come.ts'
import type { Db } from '../schema.ts'
import { changeRoster } from './connections.ts'
import { storeLearnedDepartures } from './learned-departures.ts'

/** The installation that a store belongs to. */
export type Installation = {
  readonly id: string
  /** Where the store was moved to; null: it is in use. */
  readonly movedTo: string | null
  readonly movedAt: Date | null
}

/** The installation of the store; null if nothing was ever stored. */
export async function installationOf(db: Db): Promise<Installation | null> {
  const row = await db
    .selectFrom('installation')
    .select(['id', 'moved_to as movedTo', 'moved_at as movedAt'])
    .executeTakeFirst()
  return row ?? null
}

/** Creates the id of a new store. If another process was faster, its id is used. */
export async function beginInstallation(db: Db, now: Date): Promise<Installation> {
  await db
    .insertInto('installation')
    .values({ id: randomUUID(), made_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const begun = await installationOf(db)
  if (!begun) throw new Error('the store did not keep its id')
  return begun
}

/** Records where the store was moved to; null removes that. */
export async function recordMoveTarget(db: Db, moved: { to: string; at: Date } | null): Promise<void> {
  await db
    .updateTable('installation')
    .set({ moved_to: moved?.to ?? null, moved_at: moved?.at ?? null })
    .execute()
}

/** Counts the people of all connections. */
export async function countKnownPeople(db: Db): Promise<number> {
  const { rows } = await sql<{ people: number }>`select count(*)::int as people from roster`.execute(db)
  return rows[0]?.people ?? 0
}

/** Makes every connection learn from the platform what happened after `until` before it plans. */
export async function recordRestore(db: Db, { until, now }: { until: Date; now: Date }): Promise<void> {
  await sql`
    insert into restored_connections (connection, known_until, restored_at) select name, ${until}, ${now} from connections
    on conflict (connection) do update
      set known_until = least(restored_connections.known_until, excluded.known_until), restored_at = excluded.restored_at`.execute(
    db,
  )
}

/** The restore after which a connection still has to learn what happened; null if there is none. */
export async function findRestore(
  db: Db,
  connection: string,
): Promise<{ readonly knownUntil: Date; readonly restoredAt: Date } | null> {
  const row = await db
    .selectFrom('restored_connections')
    .select(['known_until as knownUntil', 'restored_at as restoredAt'])
    .where('connection', '=', connection)
    .executeTakeFirst()
  return row ?? null
}

/**
 * The connections that still have to learn and have no open run. A connection whose run failed at `failedBefore` or later is left out, so
 * that it is not tried again at once.
 */
export async function connectionsToLearn(db: Db, { failedBefore }: { failedBefore: Date }): Promise<string[]> {
  const { rows } = await sql<{ connection: string }>`
    select connection from restored_connections restored where not exists (
      select 1 from runs where runs.connection = restored.connection
        and (state in ('waiting', 'reading', 'planned', 'delivering')
          or (state = 'failed' and created_at > restored_at and finished_at between ${failedBefore} and ${clockBound(failedBefore)})))`.execute(
    db,
  )
  return rows.map(({ connection }) => connection)
}

/** A person whose record on the platform is newer than in the restored store. */
export type NewerRecord = {
  readonly identityId: string
  readonly record: IdentityRecord
  readonly isNewLeaver: boolean
}

type LearnedPeople = {
  readonly connection: string
  readonly learned: readonly NewerRecord[]
  /** Operators can state departures of the connection. */
  readonly canStateDepartures: boolean
  readonly knownUntil: Date
}

/** Stores records of the platform as `desired`, with the time of the backup. Facts that are newer than the backup win as usual. */
export async function recordLearned(
  tx: Db,
  { connection, learned, canStateDepartures, knownUntil }: LearnedPeople,
): Promise<void> {
  if (learned.length === 0) return
  await changeRoster(tx, connection)
  const leavers = canStateDepartures ? learned.filter(({ isNewLeaver }) => isNewLeaver) : []
  const people = learned.map(({ identityId }) => identityId)
  await storeLearnedDepartures(tx, { connection, people, leavers, knownUntil })
  await sql`
    update roster set desired = learned.record, inferred = learned."isNewLeaver" or roster.inferred,
      as_of = greatest(roster.as_of, ${knownUntil}), employment_as_of = greatest(roster.employment_as_of, ${knownUntil}),
      field_times = null, uncertain = false,
      is_by_operator = roster.is_by_operator
        and left(roster.desired ->> 'separatedAt', 10) is not distinct from left(learned.record ->> 'separatedAt', 10),
      deferred_to = case when learned."isNewLeaver" then null else deferred_to end,
      deferred_zone = case when learned."isNewLeaver" then null else deferred_zone end,
      due_at = case when learned."isNewLeaver" then null else due_at end,
      held_departure = case when learned."isNewLeaver" then null else held_departure end
    from jsonb_to_recordset(${JSON.stringify(learned)}::jsonb) as learned("identityId" text, record jsonb, "isNewLeaver" boolean)
    where roster.connection = ${connection} and roster.identity_id = learned."identityId"`.execute(tx)
  await sql`
    delete from acknowledged where connection = ${connection}
      and identity_id = any(${learned.map(({ identityId }) => identityId)})`.execute(tx)
}

/**
 * Records that a connection has learned what happened since the backup. A stated departure that the platform does not have, or with another
 * day, may have been withdrawn or corrected since, so that a person has to state it again.
 */
export async function endLearning(tx: Db, connection: string): Promise<void> {
  await sql`
    update stated_departures stated set applies = false, approved_by = null
    where stated.connection = ${connection} and applies and not exists (
      select from roster left join out_of_sync
        on out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id
      where roster.connection = stated.connection and roster.identity_id = stated.identity_id
        and case when out_of_sync.identity_id is null then roster.desired else out_of_sync.confirmed end ->> 'separatedAt' is not null
        and (stated.unconfirmed_until is null or left(roster.desired ->> 'separatedAt', 10) = stated.leaving_date))`.execute(
    tx,
  )
  await tx.deleteFrom('restored_connections').where('connection', '=', connection).execute()
}
