import { type Kysely, type Selectable, sql } from 'kysely'
import type {
  BackgroundCheck,
  BackgroundCheckCreate,
  backgroundChecks,
  PersonCompact,
} from '../../contract/platform/background-checks.ts'
import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { Refusal, type RefusalKind, refuse } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, changedAt, groupRows, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { recordEvent } from '../events/store-events.ts'

const dayMs = 24 * 60 * 60 * 1000

/** The statuses that cannot be checked, with the kind of refusal that the contract has for each. */
const refusalKinds: Partial<Record<EmploymentStatus, RefusalKind>> = {
  FUTURE_HIRE: 'PERSONNEL_IS_FUTURE_HIRE',
  FORMER_EMPLOYEE: 'PERSONNEL_IS_FORMER',
  FORMER_CONTRACTOR: 'PERSONNEL_IS_FORMER',
  SPECIAL_FORMER_EMPLOYEE: 'PERSONNEL_IS_FORMER',
  SPECIAL_FORMER_CONTRACTOR: 'PERSONNEL_IS_FORMER',
  OUT_OF_SCOPE: 'PERSONNEL_IS_OUT_OF_SCOPE',
  SERVICE_ACCOUNT: 'PERSONNEL_IS_OUT_OF_SCOPE',
}

/** The handlers of the operations on background checks. */
export const backgroundCheckHandlers: Handlers<typeof backgroundChecks, PlatformContext> = {
  async createBackgroundCheck(ctx, { body }) {
    refuseFutureDay(body.filedAt, ctx.now())
    return { status: 201, body: await ctx.db.transaction().execute((trx) => addCheck(trx, ctx, body)) }
  },
}

/** The background checks of these users by user id, oldest first. */
export async function backgroundChecksOf(
  { db, accountId }: Pick<PlatformContext, 'db' | 'accountId'>,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, BackgroundCheck[]>> {
  const rows = await db
    .selectFrom('background_checks')
    .innerJoin('users', 'users.id', 'background_checks.user_id')
    .selectAll('background_checks')
    .where('users.account_id', '=', accountId)
    .where('background_checks.user_id', '=', anyOf(userIds))
    .orderBy('background_checks.id')
    .execute()
  return groupRows(rows, (row) => row.user_id, presentCheck)
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
    ...presentTimes(row),
  }
}

// East of UTC a day can be over that has not begun in UTC.
function refuseFutureDay(day: string, now: Date): void {
  const tomorrow = new Date(now.getTime() + dayMs).toISOString().slice(0, 10)
  if (day > tomorrow) throw new Refusal(400, 'filedAt lies in the future; a check is recorded when it is completed')
}

async function addCheck(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  { userId, filedAt, url }: BackgroundCheckCreate,
): Promise<PersonCompact> {
  const email = await emailOf(trx, ctx.accountId, userId)
  await lockPersonToCheck(trx, ctx.accountId, userId)
  const now = ctx.now()
  const added = await trx
    .insertInto('background_checks')
    .values({ user_id: userId, filed_on: filedAt, url, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.expression(sql`user_id, filed_on, md5(url)`).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!added) throw refuse('BACKGROUND_CHECK_ALREADY_STARTED', 'This report of this day is recorded already')
  const person = await trx
    .updateTable('personnel')
    .set({ background_checked: true, ...changedAt(now) })
    .where('user_id', '=', userId)
    .returning(['id', 'employment_status', 'created_at', 'updated_at'])
    .executeTakeFirstOrThrow()
  await recordEvent(trx, ctx, {
    type: 'BACKGROUND_CHECK_MANUAL',
    description: `A background check of ${filedAt} was recorded for person ${person.id}`,
    target: { kind: 'backgroundCheck', id: added.id },
    targets: { kind: 'personnel', ids: [person.id] },
  })
  return {
    id: person.id,
    employmentStatus: person.employment_status,
    userId,
    email,
    ...presentTimes(person),
  }
}

async function emailOf(trx: Kysely<PlatformSchema>, accountId: number, userId: number): Promise<string> {
  const user = await trx
    .selectFrom('users')
    .select('email')
    .where('account_id', '=', accountId)
    .where('id', '=', userId)
    .executeTakeFirst()
  if (user) return user.email
  throw new Refusal(404, `There is no user ${userId}`)
}

// The lock keeps the status that allows the check until the check is stored.
async function lockPersonToCheck(trx: Kysely<PlatformSchema>, accountId: number, userId: number): Promise<void> {
  const person = await trx
    .selectFrom('personnel')
    .select('employment_status')
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!person) throw refuse('PERSONNEL_NOT_ACTIVE', `The user ${userId} is not one of the personnel`)
  const reason = refusalKinds[person.employment_status]
  if (reason) throw refuse(reason, `A person who is ${person.employment_status} needs no background check`)
}
