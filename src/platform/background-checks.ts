import type { Selectable } from 'kysely'
import type { BackgroundCheck } from '../contract/background-checks.ts'
import type { PlatformContext } from './context.ts'
import type { PlatformSchema } from './schema.ts'

/** The background checks of these users by user, oldest first. */
export async function backgroundChecksOf(
  { db, accountId }: Pick<PlatformContext, 'db' | 'accountId'>,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, readonly BackgroundCheck[]>> {
  if (userIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('background_checks')
    .innerJoin('users', 'users.id', 'background_checks.user_id')
    .selectAll('background_checks')
    .where('users.account_id', '=', accountId)
    .where('background_checks.user_id', 'in', userIds)
    .orderBy('background_checks.id')
    .execute()
  const grouped = Map.groupBy(rows, (row) => row.user_id)
  return new Map([...grouped].map(([userId, group]) => [userId, group.map(presentCheck)]))
}

function presentCheck(row: Selectable<PlatformSchema['background_checks']>): BackgroundCheck {
  return {
    id: row.id,
    userId: row.user_id,
    status: 'OK',
    caseId: null,
    caseInvitationId: '',
    url: row.url,
    manualCheckDate: row.filed_on,
    manuallyCheckUrl: row.url,
    type: 'MANUAL',
    source: null,
    reportData: '',
    outOfScopeReason: null,
    outOfScopeAt: null,
    invitationEmail: null,
    linkedAt: row.created_at.toISOString(),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
