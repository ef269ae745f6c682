import type { Kysely, Selectable } from 'kysely'
import type { UserCompact } from '../../contract/platform/common.ts'
import type { ConnectionCompact } from '../../contract/platform/users.ts'
import { anyOf, presentTimes } from './rows.ts'
import type { PlatformSchema } from './schema.ts'

type UserRow = Selectable<PlatformSchema['users']>

const clientTypes = { CUSTOM: 'CUSTOM', MDM: 'CUSTOM_MDM', HRIS: 'CUSTOM_HRIS' } as const

/** The users of the account among `ids` in the short form, by id. */
export async function compactUsers(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, UserCompact>> {
  const rows = await userRows(db, accountId, ids)
  return new Map(rows.map((row) => [row.id, compactUser(row)]))
}

/** The users of the account among `ids`, as stored. */
export async function userRows(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<UserRow[]> {
  const distinctIds = [...new Set(ids.filter((id) => id !== null))]
  if (distinctIds.length === 0) return []
  return db.selectFrom('users').selectAll().where('account_id', '=', accountId).where('id', 'in', distinctIds).execute()
}

/** A user in the short form of the contract. */
export function compactUser(row: UserRow): UserCompact {
  return {
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    ...presentTimes(row),
  }
}

/** The connections of the account among `ids` in the short form, by id. */
export async function compactConnections(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, ConnectionCompact>> {
  const distinctIds = [...new Set(ids.filter((id) => id !== null))]
  if (distinctIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('custom_connections')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', 'in', distinctIds)
    .execute()
  return new Map(rows.map((row) => [row.id, compactConnection(row)]))
}

/** The identity providers of the account among `ids` in the short form of connections, by id. */
export async function compactProviders(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, ConnectionCompact>> {
  const rows = await db
    .selectFrom('identity_providers')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', anyOf(ids))
    .execute()
  return new Map(rows.map((row) => [row.id, compactProvider(row)]))
}

function compactProvider(row: Selectable<PlatformSchema['identity_providers']>): ConnectionCompact {
  return presentConnection({ ...row, client_alias: row.name })
}

// A custom connection only receives data, so it is never misconfigured and never fails.
function compactConnection(row: Selectable<PlatformSchema['custom_connections']>): ConnectionCompact {
  return presentConnection({ ...row, client_type: clientTypes[row.provider_type] })
}

type ConnectionRow = Pick<
  Selectable<PlatformSchema['custom_connections']>,
  'id' | 'client_alias' | 'created_at' | 'updated_at'
> & {
  readonly client_type: string
}

function presentConnection(row: ConnectionRow): ConnectionCompact {
  return {
    id: row.id,
    clientType: row.client_type,
    clientId: null,
    clientAlias: row.client_alias,
    state: 'ACTIVE',
    ...presentTimes(row),
    connectedAt: row.created_at.toISOString(),
    failedAt: null,
    deletedAt: null,
  }
}
