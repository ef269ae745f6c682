import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** A member of a group: the ID of a user, and the name that the sender gave it. */
export type Member = { readonly value: string; readonly display: string | null }

/** A group of a user: its ID and its name. */
export type UserGroup = { readonly value: string; readonly display: string }

/** A group of a connection. */
type GroupOf = { readonly connection: string; readonly groupId: string }

/** The members of these groups, in the order in which they were added. */
export async function membersOf(
  db: Db,
  { connection, groupIds }: { connection: string; groupIds: readonly string[] },
): Promise<Map<string, Member[]>> {
  const rows = await db
    .selectFrom('scim_members')
    .select(['group_id', 'member', 'display'])
    .where('connection', '=', connection)
    .where(sql<boolean>`group_id = any(${groupIds}::uuid[])`)
    .orderBy('ordinal')
    .execute()
  const members = new Map<string, Member[]>()
  for (const { group_id: groupId, member, display } of rows)
    members.getOrInsertComputed(groupId, () => []).push({ value: member, display })
  return members
}

/** Adds members to a group. Returns the IDs of those who were not in it. */
export async function addMembers(
  tx: Db,
  { connection, groupId }: GroupOf,
  members: readonly Member[],
): Promise<string[]> {
  const { rows } = await sql<{ member: string }>`
    insert into scim_members (connection, group_id, member, display)
    select ${connection}, ${groupId}::uuid, value, display
    from jsonb_to_recordset(${JSON.stringify(members)}::jsonb) as added(value text, display text)
    on conflict do nothing returning member`.execute(tx)
  return rows.map(({ member }) => member)
}

/** Removes members from a group: these, or all. Returns the IDs of those who were in it. */
export async function removeMembers(
  tx: Db,
  { connection, groupId }: GroupOf,
  values: readonly string[] | null,
): Promise<string[]> {
  let query = tx.deleteFrom('scim_members').where('connection', '=', connection).where('group_id', '=', groupId)
  if (values !== null) query = query.where(sql<boolean>`member = any(${values}::text[])`)
  const rows = await query.returning('member').execute()
  return rows.map(({ member }) => member)
}

/** The groups of these users by the ID of the user, ordered by name. `display`: the name as the sender wrote it. */
export async function groupsOf(
  db: Db,
  { connection, userIds }: { connection: string; userIds: readonly string[] },
): Promise<Map<string, UserGroup[]>> {
  const { rows } = await sql<UserGroup & { member: string }>`
    select member, groups.id as value, groups.body ->> 'displayName' as display
    from scim_members join scim_resources groups on groups.connection = scim_members.connection
      and groups.kind = 'Group' and groups.id = scim_members.group_id
    where scim_members.connection = ${connection} and member = any(${userIds}::text[])
    order by groups.name, groups.ordinal`.execute(db)
  const groups = new Map<string, UserGroup[]>()
  for (const { member, ...group } of rows) groups.getOrInsertComputed(member, () => []).push(group)
  return groups
}
