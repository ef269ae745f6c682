import { type RawBuilder, sql } from 'kysely'
import type { ForeignPerson as ShownForeignPerson } from '../../contract/control/foreign.ts'
import type { PeopleKeys, RunOfConnection } from '../keys.ts'
import { entriesOfPlan } from '../plans/entries.ts'
import type { Db, ForeignCounts } from '../schema.ts'

/** A person that only the platform knows, as the control API shows it without the age. */
type ForeignPerson = Omit<ShownForeignPerson, 'ageSeconds'>

type ForeignCursor = Pick<ForeignPerson, 'connection' | 'identityId'>

/** A person in the list of the platform that the roster does not know. */
export type UnknownPerson = { readonly identityId: string; readonly isSeparated: boolean }

/** The counts of a connection without such people. */
export const noForeignPeople: ForeignCounts = { people: 0, separated: 0 }

/** Maximum number of people per statement. */
const batchSize = 5000

type ListedPeople = {
  readonly connection: string
  readonly listed: readonly UnknownPerson[]
  readonly now: Date
}

/**
 * Stores the people of the platform's list that the roster does not know, and removes those of the previous list. Call it in one
 * transaction, so that an interrupted read changes nothing.
 */
export async function storeForeign(tx: Db, { connection, listed, now }: ListedPeople): Promise<void> {
  const keys = listed.map(({ identityId }) => identityId)
  await sql`delete from foreign_people where connection = ${connection} and identity_id <> all(${keys})`.execute(tx)
  for (let start = 0; start < listed.length; start += batchSize) {
    const people = JSON.stringify(listed.slice(start, start + batchSize))
    await sql`
      insert into foreign_people (connection, identity_id, is_separated, first_at, last_at)
      select ${connection}, "identityId", "isSeparated", ${now}, ${now}
      from jsonb_to_recordset(${people}::jsonb) as listed("identityId" text, "isSeparated" boolean)
      on conflict (connection, identity_id) do update set is_separated = excluded.is_separated, last_at = excluded.last_at,
        first_at = case when foreign_people.is_separated and not excluded.is_separated then excluded.first_at
          else foreign_people.first_at end`.execute(tx)
  }
}

/** Removes all such people, because the connection has another target now. */
export async function forgetForeign(tx: Db, connection: string): Promise<void> {
  await tx.deleteFrom('foreign_people').where('connection', '=', connection).execute()
}

/** In SQL, whether HR states the person and no retraction withholds that. */
const isStated = sql`roster.desired is not null and roster.retracted_at is null`

/**
 * In SQL, whether an accepted export has an unreadable row or a row with a future date of the person. HR names them, so they are not
 * unknown.
 */
const hasRow = sql`(exists (
    select from known_faults fault
    where fault.connection = listed.connection and fault.identity_id = listed.identity_id and fault.accepted_times > 0)
  or exists (
    select from waiting_rows later
    where later.connection = listed.connection and later.identity_id = listed.identity_id and later.run_id is null))`

/**
 * In SQL, the people that only the platform knows. They are compared with accepted exports: before the first one, everybody on the
 * platform is unknown, which is fine. People that HR has stated since are excluded, retracted people are included.
 */
function isForeign(connection?: string): RawBuilder<unknown> {
  return sql`foreign_people listed join connections on connections.name = listed.connection
    where connections.accepted_as_of is not null
      and not exists (
        select from roster where roster.connection = listed.connection and roster.identity_id = listed.identity_id
          and ${isStated})
      and not ${hasRow}
      and ${connection === undefined ? sql`true` : sql`listed.connection = ${connection}`}`
}

/** Removes people from the foreign ones whom HR states now. After a first run that is nearly everybody. */
export async function dropStated(tx: Db, connection: string): Promise<void> {
  await sql`
    delete from foreign_people using roster
    where foreign_people.connection = ${connection} and roster.connection = ${connection}
      and roster.identity_id = foreign_people.identity_id and ${isStated}`.execute(tx)
}

/** Counts the people whom only the platform knows, by connection; connections without any are left out. */
export async function foreignCounts(db: Db): Promise<Map<string, ForeignCounts>> {
  const { rows } = await sql<ForeignCounts & { connection: string }>`
    select listed.connection, (count(*) filter (where not is_separated))::int as people,
      (count(*) filter (where is_separated))::int as separated
    from ${isForeign()} group by listed.connection`.execute(db)
  return new Map(rows.map(({ connection, ...tally }) => [connection, tally]))
}

type ForeignFilter = {
  readonly connection?: string
  readonly after?: ForeignCursor
  readonly limit?: number
}

/** Lists the people that only the platform knows and treats as employed, by connection and key. */
export async function listForeign(db: Db, { connection, after, limit }: ForeignFilter): Promise<ForeignPerson[]> {
  const { rows } = await sql<{ connection: string; identityId: string; firstAt: Date; lastAt: Date }>`
    select listed.connection, listed.identity_id as "identityId", first_at as "firstAt", last_at as "lastAt"
    from ${isForeign(connection)} and not is_separated
      and ${after === undefined ? sql`true` : sql`(listed.connection collate "C", listed.identity_id) > (${after.connection}, ${after.identityId})`}
    order by listed.connection collate "C", listed.identity_id limit ${limit ?? null}`.execute(db)
  return rows.map(({ firstAt, lastAt, ...person }) => ({
    ...person,
    firstAt: firstAt.toISOString(),
    lastAt: lastAt.toISOString(),
  }))
}

/** Those of these people that only the platform knows, and whether they have left there. */
export async function findForeign(
  db: Db,
  { connection, identityIds }: PeopleKeys,
): Promise<ReadonlyMap<string, UnknownPerson>> {
  const { rows } = await sql<UnknownPerson>`
    select listed.identity_id as "identityId", is_separated as "isSeparated"
    from ${isForeign(connection)} and listed.identity_id = any(${identityIds})`.execute(db)
  return new Map(rows.map((listed) => [listed.identityId, listed]))
}

/** Where HR names a person without an accepted statement: an unreadable or future row, or a held plan that has them as employed. */
type NamedByHr = { readonly identityId: string; readonly hasRow: boolean; readonly heldRun: string | null }

/** Those of these people that HR names without an accepted statement. */
export async function findNamed(db: Db, { connection, identityIds }: PeopleKeys): Promise<readonly NamedByHr[]> {
  const { rows } = await sql<NamedByHr>`
    select * from (
      select listed.identity_id as "identityId", ${hasRow} as "hasRow", (
        select runs.id from runs join plan_entries entry on entry.run_id = runs.id
        where runs.connection = listed.connection and runs.state = 'held' and entry.identity_id = listed.identity_id
          and jsonb_typeof(entry.desired) = 'object' and entry.desired ->> 'separatedAt' is null
        order by runs.created_at desc limit 1) as "heldRun"
      from (select ${connection}::text as connection, key as identity_id from unnest(${identityIds}::text[]) key) listed) named
    where "hasRow" or "heldRun" is not null order by "identityId" collate "C"`.execute(db)
  return rows
}

/** Counts the people whom only the platform knows, by connection, with the times of the first and the newest of them. */
export async function newestForeign(
  db: Db,
  connections: readonly string[],
): Promise<readonly { readonly name: string; readonly people: number; readonly since: Date; readonly newest: Date }[]> {
  const { rows } = await sql<{ name: string; people: number; since: Date; newest: Date }>`
    select listed.connection as name, count(*)::int as people, min(first_at) as since, max(first_at) as newest
    from ${isForeign()} and not is_separated and listed.connection = any(${connections})
    group by listed.connection`.execute(db)
  return rows
}

type PlanComparison = RunOfConnection & {
  readonly named: readonly string[]
  readonly limit: number
}

/**
 * Counts the listed people that the plan of a run does not state either, with the first keys of those who are employed there. `named`:
 * people with an unreadable or future row in the plan.
 */
export async function foreignToPlan(
  db: Db,
  { connection, runId, named, limit }: PlanComparison,
): Promise<ForeignCounts & { readonly keys: readonly string[] }> {
  const { rows } = await sql<ForeignCounts & { keys: readonly string[] | null }>`
    with unstated as (
      select identity_id, is_separated, row_number() over (partition by is_separated order by identity_id) as rank
      from foreign_people listed
      where listed.connection = ${connection}
        and not exists (select from ${entriesOfPlan(runId)} planned where planned.identity_id = listed.identity_id)
        and not ${hasRow} and listed.identity_id <> all(${named})
    )
    select (count(*) filter (where not is_separated))::int as people, (count(*) filter (where is_separated))::int as separated,
      array_agg(identity_id order by identity_id) filter (where not is_separated and rank <= ${limit}) as keys
    from unstated`.execute(db)
  const [row] = rows
  return { ...noForeignPeople, ...row, keys: row?.keys ?? [] }
}
