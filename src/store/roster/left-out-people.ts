import { type RawBuilder, sql } from 'kysely'
import type { LeftOutPerson as ShownLeftOutPerson } from '../../contract/control/left-out.ts'
import type { PeopleKeys, PersonKey } from '../keys.ts'
import type { Db } from '../schema.ts'
import { isOfKind } from './unapproved-people.ts'

/** A person who was left out when a part of a plan was approved, as the control API shows it without name and age. */
type LeftOutPerson = Omit<ShownLeftOutPerson, 'name' | 'ageSeconds'>

/** How many people of a connection wait, and since when (ISO 8601) the first of them does. */
type LeftOutCounts = { readonly people: number; readonly since: string }

type LeftOutFilter = {
  readonly connection?: string
  readonly identityId?: string
  readonly after?: PersonKey
  readonly limit?: number
  readonly now: Date
}

/** In SQL, a held run with the change of a waiting person: one that can still be approved, then the newest. */
function heldRunOf(now: Date): RawBuilder<unknown> {
  return sql`(
    select runs.id, runs.expires_at from runs join changes on changes.run_id = runs.id and changes.identity_id = waiting.identity_id
    where runs.connection = waiting.connection and runs.state = 'held' and not changes.carried and (${isOfKind} or waiting.held_by = runs.id)
    order by coalesce(runs.expires_at <= ${now}, false), runs.created_at desc, runs.id limit 1)`
}

/** In SQL, whether the departure of a row of `leavers` was left out when a part of a plan was approved, and waits in whatever run. */
export const departureWaits = sql<boolean>`(leavers.ended_at is null and exists (
  select from unapproved_people waiting
  where waiting.connection = leavers.connection and waiting.identity_id = leavers.identity_id and waiting.kind in ('leave', 'join')))`

/** Lists the people who were left out when a part of a plan was approved, and of whom nobody has approved a change since, by connection and key. */
export async function listLeftOut(db: Db, filter: LeftOutFilter): Promise<LeftOutPerson[]> {
  const { connection, identityId, after, limit, now } = filter
  const { rows } = await sql<{
    connection: string
    identityId: string
    departs: boolean
    since: Date
    runId: string
    approvedBy: string | null
    approvedAt: Date | null
    heldRun: string | null
    expiresAt: Date | null
  }>`
    select waiting.connection, waiting.identity_id as "identityId", departs, since, waiting.run_id as "runId",
      part.decided_by as "approvedBy", part.decided_at as "approvedAt", held.id as "heldRun", held.expires_at as "expiresAt"
    from (
      select distinct on (connection collate "C", identity_id) *, kind = 'leave' as departs from unapproved_people
      where ${connection === undefined ? sql`true` : sql`connection = ${connection}`}
        and ${identityId === undefined ? sql`true` : sql`identity_id = ${identityId}`}
        and ${after === undefined ? sql`true` : sql`(connection collate "C", identity_id) > (${after.connection}, ${after.identityId})`}
      order by connection collate "C", identity_id, kind = 'leave' desc, since limit ${limit ?? null}) waiting
    left join lateral (
      select decided_by, decided_at from runs where part_of_run_id = waiting.run_id order by decided_at, id limit 1) part on true
    left join lateral ${heldRunOf(now)} held on true
    order by waiting.connection collate "C", waiting.identity_id`.execute(db)
  return rows.map(({ since, approvedBy, approvedAt, heldRun, expiresAt, ...person }) => ({
    ...person,
    since: since.toISOString(),
    approved: approvedBy === null || approvedAt === null ? null : { by: approvedBy, at: approvedAt.toISOString() },
    held:
      heldRun === null
        ? null
        : { runId: heldRun, isExpired: expiresAt !== null && expiresAt.getTime() <= now.getTime() },
  }))
}

/** The runs of which these people were left out, the newest first, at most three. */
export async function leftOutOfRuns(db: Db, { connection, identityIds }: PeopleKeys): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select run_id as id from unapproved_people
    where connection = ${connection} and identity_id = any(${identityIds})
    group by run_id order by max(since) desc, run_id limit 3`.execute(db)
  return rows.map(({ id }) => id)
}

/** Counts those people by connection; connections without any are left out. */
export async function leftOutCounts(db: Db): Promise<ReadonlyMap<string, LeftOutCounts>> {
  const { rows } = await sql<{ connection: string; people: number; since: Date }>`
    select connection, count(distinct identity_id)::int as people, min(since) as since from unapproved_people group by connection`.execute(
    db,
  )
  return new Map(rows.map(({ connection, people, since }) => [connection, { people, since: since.toISOString() }]))
}
