import { type Selectable, sql } from 'kysely'
import type { ConnectionCompact, UserIdentity } from '../../contract/platform/users.ts'
import type { PlatformContext } from '../core/context.ts'
import { presentIdentity } from '../identities/rows.ts'
import { leadingRecordFirst } from '../identity-sync/identity-sync.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** A live HR record with the user whom the identity sync found it to belong to. */
export type MatchedIdentity = Selectable<PlatformSchema['hris_user_identities']> & { readonly user_id: number }

/** The live HR records of these users by user, in the order in which they speak for them. */
export async function identitiesOf(
  { db, accountId, now }: Pick<PlatformContext, 'db' | 'accountId' | 'now'>,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, readonly MatchedIdentity[]>> {
  if (userIds.length === 0) return new Map()
  const { rows } = await sql<MatchedIdentity>`
    select identity.*, matched.user_id
    from identity_matches as matched
    join users on users.id = matched.user_id and users.account_id = ${accountId}
    join hris_user_identities as identity on identity.id = matched.identity_row_id and identity.deleted_at is null
    where matched.user_id = any(${userIds}::bigint[])
    order by matched.user_id, ${leadingRecordFirst(now())}
  `.execute(db)
  return Map.groupBy(rows, (row) => row.user_id)
}

export function presentUserIdentity(row: MatchedIdentity, connection: ConnectionCompact): UserIdentity {
  return {
    ...presentIdentity(row),
    username: null,
    connectedAt: row.created_at.toISOString(),
    disconnectedAt: null,
    hasMfa: null,
    userId: row.user_id,
    connectionId: row.connection_id,
    connection,
  }
}
