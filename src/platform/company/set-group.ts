import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { pluralize } from '../../web/words.ts'
import { anyOf, changedAt } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type NewEvent, storeEvent, type WriteContext } from '../events/store-events.ts'
import type { ProvidedGroup, Provider } from './group-input.ts'

type Trx = Kysely<PlatformSchema>

/** The identity provider of that name, made if the account has none. Fails with `conflict` if it is of another kind. */
export async function provideProvider(
  trx: Trx,
  { name, clientType }: Provider,
  { accountId, at }: WriteContext,
): Promise<number> {
  await trx
    .insertInto('identity_providers')
    .values({ account_id: accountId, client_type: clientType, name, created_at: at, updated_at: at })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .execute()
  const provider = await findProvider(trx, accountId, name)
  if (provider?.client_type === clientType) return provider.id
  throw new Failure('conflict', `the identity provider "${name}" is ${provider?.client_type}, not ${clientType}`)
}

function findProvider(trx: Trx, accountId: number, name: string) {
  return trx
    .selectFrom('identity_providers')
    .select(['id', 'client_type'])
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** The id of a group of a provider, or undefined. */
export async function findGroup(trx: Trx, providerId: number, externalId: string): Promise<number | undefined> {
  const groups = trx.selectFrom('personnel_groups').select('id').where('provider_id', '=', providerId)
  return (await groups.where('external_id', '=', externalId).executeTakeFirst())?.id
}

/**
 * Makes a group, or gives it this name and these members, and returns whose membership changed. The caller holds the lock of
 * the provider and refreshes the compliance of these people.
 */
export async function setGroup(
  trx: Trx,
  providerId: number,
  { externalId, name, members }: ProvidedGroup,
  by: WriteContext,
): Promise<{ readonly id: number; readonly members: number; readonly changed: readonly number[] }> {
  const people = await personnelIds(trx, by.accountId, members)
  const known = await findGroup(trx, providerId, externalId)
  const id = known ?? (await insertGroup(trx, { providerId, externalId, name }, by))
  const changed = await replaceMembers(trx, id, people)
  const isRenamed = await rename(trx, id, name, by)
  if (known === undefined || changed.length > 0 || isRenamed) {
    await storeEvent(trx, by, {
      type: known === undefined ? 'GROUPS_IDENTITY_CREATED' : 'GROUPS_IDENTITY_UPDATED',
      description: `The group ${id} has ${pluralize(people.length, 'member')}`,
      target: { kind: 'group', id },
      targets: { kind: 'personnel', ids: people },
    })
  }
  return { id, members: people.length, changed }
}

async function insertGroup(
  trx: Trx,
  { providerId, externalId, name }: { readonly providerId: number; readonly externalId: string; readonly name: string },
  { accountId, at }: WriteContext,
): Promise<number> {
  const group = { account_id: accountId, provider_id: providerId, external_id: externalId, name }
  const times = { created_at: at, updated_at: at }
  const insert = trx
    .insertInto('personnel_groups')
    .values({ ...group, ...times })
    .returning('id')
  return (await insert.executeTakeFirstOrThrow()).id
}

async function rename(trx: Trx, id: number, name: string, { at }: WriteContext): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('personnel_groups')
    .set({ name, ...changedAt(at) })
    .where('id', '=', id)
    .where('name', '<>', name)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Returns whose membership changed. */
async function replaceMembers(trx: Trx, groupId: number, people: readonly number[]): Promise<number[]> {
  const removed = await trx
    .deleteFrom('group_members')
    .where('group_id', '=', groupId)
    .where(sql<boolean>`person_id <> all(${people}::bigint[])`)
    .returning('person_id')
    .execute()
  const { rows: added } = await sql<{ person_id: number }>`
    insert into group_members (group_id, person_id) select ${groupId}::bigint, id from personnel where id = ${anyOf(people)}
    on conflict do nothing
    returning person_id
  `.execute(trx)
  return [...removed, ...added].map((member) => member.person_id)
}

async function personnelIds(trx: Trx, accountId: number, emails: readonly string[]): Promise<number[]> {
  const { rows } = await sql<{ email: string; id: number | null }>`
    select member.email, person.id
    from unnest(${emails}::text[]) as member(email)
    left join users on users.account_id = ${accountId} and fold_case(users.email) = fold_case(member.email)
    left join personnel as person on person.user_id = users.id
    order by person.id
  `.execute(trx)
  const unknown = rows.find(({ id }) => id === null)
  if (unknown) throw new Failure('not_found', `${unknown.email} is not one of the personnel`)
  return [...new Set(rows.flatMap(({ id }) => id ?? []))]
}

/** Removes a group, also from policies and the scopes of workspaces, and returns who was in it. Fails with `not_found`. */
export async function removeGroup(
  trx: Trx,
  { provider, externalId }: { readonly provider: string; readonly externalId: string },
  by: WriteContext,
): Promise<readonly number[]> {
  const owner = await findProvider(trx, by.accountId, provider)
  const id = owner && (await findGroup(trx, owner.id, externalId))
  if (id === undefined)
    throw new Failure('not_found', `the identity provider "${provider}" has no group "${externalId}"`)
  const members = await replaceMembers(trx, id, [])
  await trx.deleteFrom('personnel_groups').where('id', '=', id).execute()
  const event: NewEvent = {
    type: 'GROUPS_IDENTITY_DELETED',
    description: `The group ${id} was removed`,
    target: { kind: 'group', id },
  }
  await storeEvent(trx, by, event)
  return members
}
