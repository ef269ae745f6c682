import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { isResourceId, resourceIdForm } from './resources.ts'

/** A member of a group: the ID of a user or of another group, and the name that the sender gave it. */
export type Member = { readonly value: string; readonly display: string | null }

/** A member that is stored. */
export type StoredMember = Member & { readonly kind: 'User' | 'Group' }

/** A group of a user: its ID and its name. */
export type UserGroup = { readonly value: string; readonly display: string }

/** A group of a connection. */
type GroupOf = { readonly connection: string; readonly groupId: string }

/** The members of these groups, in the order in which they were added. */
export async function membersOf(
  db: Db,
  { connection, groupIds }: { connection: string; groupIds: readonly string[] },
): Promise<Map<string, StoredMember[]>> {
  const { rows } = await sql<StoredMember & { groupId: string }>`
    select group_id as "groupId", member as value, display, case when exists (
      select from scim_resources where connection = ${connection} and kind = 'Group'
        and id = case when member ~* ${resourceIdForm.source} then member::uuid end
    ) then 'Group' else 'User' end as kind
    from scim_members where connection = ${connection} and group_id = any(${groupIds}::uuid[])
    order by ordinal`.execute(db)
  const members = new Map<string, StoredMember[]>()
  for (const { groupId, ...member } of rows) members.getOrInsertComputed(groupId, () => []).push(member)
  return members
}

/** Adds members to a group. Returns the IDs of those who were not in it. */
export async function addMembers(
  tx: Db,
  { connection, groupId }: GroupOf,
  members: readonly Member[],
): Promise<string[]> {
  const added = members.map((member) => ({ ...member, value: storedForm(member.value) }))
  const { rows } = await sql<{ member: string }>`
    insert into scim_members (connection, group_id, member, display)
    select ${connection}, ${groupId}::uuid, value, display
    from jsonb_to_recordset(${JSON.stringify(added)}::jsonb) as added(value text, display text)
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
  // Older versions stored them as they were written.
  const stored = values?.flatMap((value) => [value, storedForm(value)])
  if (stored !== undefined) query = query.where(sql<boolean>`member = any(${stored}::text[])`)
  const rows = await query.returning('member').execute()
  return rows.map(({ member }) => member)
}

/** A member as it is stored: the case of our own IDs does not matter. */
function storedForm(value: string): string {
  return isResourceId(value) ? value.toLowerCase() : value
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
