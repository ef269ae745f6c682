import type { Kysely, Selectable } from 'kysely'
import type { UserCompact } from '../contract/common.ts'
import type { PlatformSchema } from './schema.ts'

/** The users of `accountId` among `ids`, by id. */
export async function compactUsers(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, UserCompact>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))]
  if (wanted.length === 0) return new Map()
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', 'in', wanted)
    .execute()
  return new Map(rows.map((row) => [row.id, compactUser(row)]))
}

function compactUser(row: Selectable<PlatformSchema['users']>): UserCompact {
  return {
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
