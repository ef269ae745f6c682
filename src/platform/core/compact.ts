import type { Kysely, Selectable } from 'kysely'
import type { UserCompact } from '../../contract/platform/common.ts'
import type { ConnectionCompact } from '../../contract/platform/users.ts'
import type { PlatformSchema } from './schema.ts'

type UserRow = Selectable<PlatformSchema['users']>

const clientTypes = { CUSTOM: 'CUSTOM', MDM: 'CUSTOM_MDM', HRIS: 'CUSTOM_HRIS' } as const

/** The users of `accountId` among `ids`, in short and by id. */
export async function compactUsers(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, UserCompact>> {
  const rows = await userRows(db, accountId, ids)
  return new Map(rows.map((row) => [row.id, compactUser(row)]))
}

/** The users of `accountId` among `ids`, as stored. */
export async function userRows(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<UserRow[]> {
  const distinctIds = [...new Set(ids.filter((id) => id !== null))]
  if (distinctIds.length === 0) return []
  return db.selectFrom('users').selectAll().where('account_id', '=', accountId).where('id', 'in', distinctIds).execute()
}

export function compactUser(row: UserRow): UserCompact {
  return {
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

/** The connections of `accountId` among `ids`, by id. */
export async function compactConnections(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, ConnectionCompact>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))]
  if (wanted.length === 0) return new Map()
  const rows = await db
    .selectFrom('custom_connections')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', 'in', wanted)
    .execute()
  return new Map(rows.map((row) => [row.id, compactConnection(row)]))
}

// A custom connection takes what is sent to it, so nothing of it can be set up wrongly or fail.
function compactConnection(row: Selectable<PlatformSchema['custom_connections']>): ConnectionCompact {
  return {
    id: row.id,
    clientType: clientTypes[row.provider_type],
    clientId: null,
    clientAlias: row.client_alias,
    state: 'ACTIVE',
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    connectedAt: row.created_at.toISOString(),
    failedAt: null,
    deletedAt: null,
  }
}
