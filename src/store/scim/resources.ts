import { type Selectable, sql } from 'kysely'
import type { Db, StoreSchema } from '../schema.ts'

/** What a resource is. */
export type ResourceKind = 'User' | 'Group'

/** A resource as it is stored. `body`: what the sender wrote, without what this side adds. */
export type StoredResource = {
  readonly id: string
  readonly version: number
  readonly createdAt: Date
  readonly changedAt: Date
  readonly identityId: string | null
  readonly isActive: boolean
  readonly body: unknown
}

/** Where resources are: the users or the groups of a connection. */
type ResourcesOf = { readonly connection: string; readonly kind: ResourceKind }

/** What is stored of a resource besides its times. */
export type ResourceContent = {
  /** The userName or displayName. Its case does not matter. */
  readonly name: string
  readonly externalId: string | null
  readonly identityId: string | null
  readonly isActive: boolean
  readonly body: object
}

/** An attribute by which resources are looked up, and its value. */
export type ResourceKey = { readonly by: 'id' | 'externalId' | 'name'; readonly value: string }

/** The form of the IDs of resources. */
export const resourceIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Registers a connection, so that it can be changed. */
export async function ensureScimConnection(db: Db, connection: string): Promise<void> {
  await sql`
    insert into scim_connections (connection, changed_at) values (${connection}, to_timestamp(0))
    on conflict do nothing`.execute(db)
}

/**
 * Waits until no other change of the connection is under way, and returns the time of this one: later than every change before, also if
 * the clocks of two processes differ or a clock was set back. An earlier time would let older facts overtake a departure.
 */
export async function beginChange(tx: Db, { connection, now }: { connection: string; now: Date }): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    update scim_connections set changed_at = greatest(${now}::timestamptz, changed_at + interval '1 millisecond')
    where connection = ${connection} returning changed_at as at`.execute(tx)
  const [row] = rows
  if (row === undefined) throw new Error(`the SCIM connection ${connection} is not registered`)
  return row.at
}

/**
 * What the sender of a connection has pushed. `withoutKey`: how many active users are no person. `lastAt`: when it was here last, by its
 * tokens; null: never. The times of changes only order them.
 */
type PushedTally = {
  readonly users: number
  readonly active: number
  readonly withoutKey: number
  readonly lastAt: Date | null
}

/** What was pushed, by connection. */
export async function pushedTallies(db: Db): Promise<Map<string, PushedTally>> {
  const { rows } = await sql<PushedTally & { connection: string }>`
    select connections.connection, count(users.id)::int as users, (count(*) filter (where users.is_active))::int as active,
      (count(*) filter (where users.is_active and users.identity_id is null))::int as "withoutKey",
      (select max(last_used_at) from access_tokens tokens
        where tokens.connection = connections.connection and role = 'scim') as "lastAt"
    from scim_connections connections
      left join scim_resources users on users.connection = connections.connection and users.kind = 'User'
    group by connections.connection`.execute(db)
  return new Map(rows.map(({ connection, ...tally }) => [connection, tally]))
}

/** The resource with this ID; null if there is none. */
export async function findResource(
  db: Db,
  { connection, kind }: ResourcesOf,
  id: string,
): Promise<StoredResource | null> {
  if (!resourceIdForm.test(id)) return null
  const row = await db
    .selectFrom('scim_resources')
    .selectAll()
    .where('connection', '=', connection)
    .where('kind', '=', kind)
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? null : toResource(row)
}

/** The resources with these IDs, by their IDs. Texts that are no ID of ours have none. */
export async function findResourcesWithIds(
  db: Db,
  { connection, kind }: ResourcesOf,
  ids: readonly string[],
): Promise<Map<string, StoredResource>> {
  const own = ids.filter(isResourceId)
  if (own.length === 0) return new Map()
  const rows = await db
    .selectFrom('scim_resources')
    .selectAll()
    .where('connection', '=', connection)
    .where('kind', '=', kind)
    .where(sql<boolean>`id = any(${own}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.id, toResource(row)]))
}

/** Whether a text has the form of the IDs of resources. */
export function isResourceId(text: string): boolean {
  return resourceIdForm.test(text)
}

/** Those of these keys that a user of the connection has. */
export async function knownKeys(
  db: Db,
  { connection, keys }: { connection: string; keys: readonly string[] },
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await db
    .selectFrom('scim_resources')
    .select('identity_id')
    .where('connection', '=', connection)
    .where('kind', '=', 'User')
    .where(sql<boolean>`identity_id = any(${keys}::text[])`)
    .execute()
  return new Set(rows.flatMap(({ identity_id: key }) => key ?? []))
}

/** The active users whose manager has this ID. `path`: where a user names its manager. Reads all users: no index helps. */
export async function activeReportsOf(
  db: Db,
  { connection, managerId, path }: { connection: string; managerId: string; path: readonly string[] },
): Promise<StoredResource[]> {
  const rows = await db
    .selectFrom('scim_resources')
    .selectAll()
    .where('connection', '=', connection)
    .where('kind', '=', 'User')
    .where('is_active', '=', true)
    .where(sql<boolean>`body #>> ${path}::text[] = ${managerId}`)
    .orderBy('ordinal')
    .execute()
  return rows.map(toResource)
}

/** The resources with this ID, external ID or name. */
export async function findResources(
  db: Db,
  { connection, kind }: ResourcesOf,
  { by, value }: ResourceKey,
): Promise<StoredResource[]> {
  if (by === 'id') {
    const resource = await findResource(db, { connection, kind }, value)
    return resource === null ? [] : [resource]
  }
  const rows = await db
    .selectFrom('scim_resources')
    .selectAll()
    .where('connection', '=', connection)
    .where('kind', '=', kind)
    .where(by === 'name' ? 'name' : 'external_id', '=', by === 'name' ? value.toLowerCase() : value)
    .orderBy('ordinal')
    .execute()
  return rows.map(toResource)
}

/** The active users that are this person, besides one. */
export async function findOthersOf(
  tx: Db,
  { connection, identityId, except }: { connection: string; identityId: string; except: string },
): Promise<StoredResource[]> {
  const rows = await tx
    .selectFrom('scim_resources')
    .selectAll()
    .where('connection', '=', connection)
    .where('kind', '=', 'User')
    .where('identity_id', '=', identityId)
    .where('is_active', '=', true)
    .where('id', '<>', except)
    .orderBy('ordinal', 'desc')
    .limit(1)
    .execute()
  return rows.map(toResource)
}

/** A part of the resources in the order in which they came, and how many there are. */
export async function listResources(
  db: Db,
  { connection, kind }: ResourcesOf,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ readonly total: number; readonly resources: StoredResource[] }> {
  const all = db.selectFrom('scim_resources').where('connection', '=', connection).where('kind', '=', kind)
  const { total } = await all.select(sql<number>`count(*)::int`.as('total')).executeTakeFirstOrThrow()
  if (limit === 0 || offset >= total) return { total, resources: [] }
  const rows = await all.selectAll().orderBy('ordinal').offset(offset).limit(limit).execute()
  return { total, resources: rows.map(toResource) }
}

type NewResource = ResourcesOf & ResourceContent & { readonly id: string; readonly at: Date }

/** Stores a new resource. Returns null if another user has its name. */
export async function insertResource(
  tx: Db,
  { connection, kind, id, at, ...content }: NewResource,
): Promise<StoredResource | null> {
  const row = await tx
    .insertInto('scim_resources')
    .values({ connection, kind, id, version: 1, created_at: at, changed_at: at, ...columnsOf(content) })
    .onConflict((conflict) => conflict.columns(['connection', 'name']).where('kind', '=', 'User').doNothing())
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? null : toResource(row)
}

/** Stores another content of a resource, which gets the next version. */
export async function updateResource(
  tx: Db,
  { connection, kind, id, at, ...content }: NewResource,
): Promise<StoredResource> {
  const row = await tx
    .updateTable('scim_resources')
    .set({ ...columnsOf(content), changed_at: at, version: sql`version + 1` })
    .where('connection', '=', connection)
    .where('kind', '=', kind)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return toResource(row)
}

/** Gives the resources among these IDs the next version: what they have to do with others has changed. */
export async function renewVersions(
  tx: Db,
  { connection, kind, at }: ResourcesOf & { readonly at: Date },
  ids: readonly string[],
): Promise<void> {
  await sql`
    update scim_resources set version = version + 1, changed_at = ${at}
    where connection = ${connection} and kind = ${kind}
      and id = any(${ids.filter((id) => resourceIdForm.test(id))}::uuid[])`.execute(tx)
}

/** Deletes a resource, its members, and itself as a member of groups, which get another version. */
export async function deleteResource(
  tx: Db,
  { connection, kind, at }: ResourcesOf & { readonly at: Date },
  id: string,
): Promise<void> {
  await tx
    .deleteFrom('scim_resources')
    .where('connection', '=', connection)
    .where('kind', '=', kind)
    .where('id', '=', id)
    .execute()
  await tx.deleteFrom('scim_members').where('connection', '=', connection).where('group_id', '=', id).execute()
  await removeFromGroups(tx, { connection, ids: [id], at })
}

/**
 * Waits until no change of the connection is under way, and lets none begin before the end of the transaction. Returns how these people may
 * still be employed: by an active user, or by a change of a user that waits for a run or a decision; null: not at all.
 */
export async function lockUsersOf(
  tx: Db,
  { connection, identityIds }: { connection: string; identityIds: readonly string[] },
): Promise<'active' | 'waiting' | null> {
  await sql`select from scim_connections where connection = ${connection} for update`.execute(tx)
  const { rows } = await sql<{ isActive: boolean; isWaiting: boolean }>`
    select is_active as "isActive", exists (
      select 1 from inbox where inbox.connection = ${connection} and state in ('pending', 'held') and event_id = users.id::text
    ) as "isWaiting"
    from scim_resources users
    where connection = ${connection} and kind = 'User' and identity_id = any(${identityIds}::text[])`.execute(tx)
  if (rows.some(({ isActive }) => isActive)) return 'active'
  return rows.some(({ isWaiting }) => isWaiting) ? 'waiting' : null
}

/** Deletes the users that are these people, without an event: nothing of them is kept. Their groups get another version. */
export async function deleteUsersOf(
  tx: Db,
  { connection, identityIds, at }: { connection: string; identityIds: readonly string[]; at: Date },
): Promise<void> {
  const deleted = await tx
    .deleteFrom('scim_resources')
    .where('connection', '=', connection)
    .where('kind', '=', 'User')
    .where(sql<boolean>`identity_id = any(${identityIds}::text[])`)
    .returning('id')
    .execute()
  await removeFromGroups(tx, { connection, ids: deleted.map(({ id }) => id), at })
}

/** Removes members from all groups, which get another version. */
async function removeFromGroups(
  tx: Db,
  { connection, ids, at }: { connection: string; ids: readonly string[]; at: Date },
): Promise<void> {
  await sql`
    with removed as (
      delete from scim_members where connection = ${connection} and member = any(${ids}::text[]) returning group_id
    )
    update scim_resources set version = version + 1, changed_at = ${at}
    where connection = ${connection} and kind = 'Group' and id in (select group_id from removed)`.execute(tx)
}

function columnsOf({ name, externalId, identityId, isActive, body }: ResourceContent) {
  return {
    name: name.toLowerCase(),
    external_id: externalId,
    identity_id: identityId,
    is_active: isActive,
    body: JSON.stringify(body),
  }
}

function toResource(row: Selectable<StoreSchema['scim_resources']>): StoredResource {
  return {
    id: row.id,
    version: row.version,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    identityId: row.identity_id,
    isActive: row.is_active,
    body: row.body,
  }
}
