import { type Kysely, type Selectable, sql } from 'kysely'
import type { Person, PersonnelReset, PersonRef, personnel } from '../contract/personnel.ts'
import type { Handlers } from '../http/mount.ts'
import { Refusal } from '../http/refusal.ts'
import type { PlatformContext } from './context.ts'
import { lockForSync } from './identity-sync.ts'
import { listPage } from './pages.ts'
import type { PlatformSchema } from './schema.ts'
import { isStorableText } from './storable-json.ts'
import { compactUsers } from './users.ts'

type Row = Selectable<PlatformSchema['personnel']>
type Expansions = readonly ('customFields' | 'complianceChecks' | 'reasonProvider' | 'user')[]

const emailPrefix = 'email:'

export const personnelHandlers: Handlers<typeof personnel, PlatformContext> = {
  async listPersonnel(ctx, { query }) {
    const { 'employmentStatus[]': statuses, 'complianceStatus[]': compliance } = query
    const { rows, pagination } = await listPage(ctx, {
      table: 'personnel',
      where: sql`account_id = ${ctx.accountId}${withStatus(statuses)}${withCompliance(compliance)}`,
      filter: { statuses, compliance },
      query,
    })
    return { status: 200, body: { data: await present(ctx, rows, query['expand[]']), pagination } }
  },

  async getPersonnel(ctx, { params, query }) {
    const row = await findPerson(ctx, params.personnelId)
    const [person] = row ? await present(ctx, [row], query['expand[]']) : []
    if (!person) throw new Refusal(404, 'There is no such person')
    return { status: 200, body: person }
  },

  async resetPersonnelSync(ctx, { body }) {
    checkReset(body)
    return { status: 201, body: { count: await resetSync(ctx, body.personnelIds) } }
  },
}

function withStatus(statuses: readonly string[] = []) {
  return statuses.length > 0 ? sql` and employment_status = any(${statuses}::text[])` : sql``
}

// This platform runs no compliance checks yet, so nobody has any of their statuses.
function withCompliance(statuses: readonly string[] = []) {
  return statuses.length > 0 ? sql` and false` : sql``
}

async function findPerson(ctx: PlatformContext, reference: PersonRef): Promise<Row | undefined> {
  const person = ctx.db.selectFrom('personnel').selectAll('personnel').where('personnel.account_id', '=', ctx.accountId)
  if (typeof reference === 'number') return person.where('personnel.id', '=', reference).executeTakeFirst()
  const email = reference.slice(emailPrefix.length)
  if (!isStorableText(email)) return undefined
  return person
    .innerJoin('users', 'users.id', 'personnel.user_id')
    .where(sql<boolean>`lower(users.email) = lower(${email})`)
    .executeTakeFirst()
}

function checkReset({ action, personnelIds }: PersonnelReset): void {
  if (action === 'reset-sync' && !personnelIds) throw new Refusal(400, 'personnelIds is required for reset-sync')
  if (action === 'reset-sync-all' && personnelIds)
    throw new Refusal(400, 'personnelIds must be left out for reset-sync-all')
}

type Scope = Pick<PlatformContext, 'db' | 'accountId' | 'now'>

/** Gives those of the account who were set by hand back to the identity sync: those named, or everybody. Answers how many they were. */
export async function resetSync(scope: Scope, personnelIds?: readonly number[]): Promise<number> {
  return scope.db.transaction().execute(async (trx) => {
    if (!(await lockForSync(trx, scope.accountId))) {
      throw new Refusal(409, 'An identity sync of this account is running; try again when it has ended')
    }
    return resetPeople(trx, scope, personnelIds)
  })
}

async function resetPeople(
  trx: Kysely<PlatformSchema>,
  { accountId, now }: Scope,
  personnelIds?: readonly number[],
): Promise<number> {
  const chosen = personnelIds ? sql<boolean>`id = any(${personnelIds}::bigint[])` : sql<boolean>`true`
  const { numUpdatedRows } = await trx
    .updateTable('personnel')
    .set({
      status_updated_at: null,
      updated_at: sql`greatest(updated_at, ${now()}::timestamptz)`,
      changed_in: sql`pg_current_xact_id()`,
    })
    .where('account_id', '=', accountId)
    .where('status_updated_at', 'is not', null)
    .where(chosen)
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}

async function present(ctx: PlatformContext, rows: readonly Row[], expand: Expansions = []): Promise<Person[]> {
  if (expand.includes('customFields') && !ctx.entitlements.has('CUSTOM_FIELDS_AND_FORMULAS')) {
    throw new Refusal(403, 'The plan of the account does not include CUSTOM_FIELDS_AND_FORMULAS')
  }
  const ids = [
    ...(expand.includes('user') ? rows.map((row) => row.user_id) : []),
    ...(expand.includes('reasonProvider') ? rows.map((row) => row.reason_provider_id) : []),
  ]
  const users = await compactUsers(ctx.db, ctx.accountId, ids)
  return rows.map((row) => ({
    id: row.id,
    userId: row.user_id,
    employmentStatus: row.employment_status,
    startedAt: row.started_at?.toISOString() ?? null,
    separatedAt: row.separated_at?.toISOString() ?? null,
    statusUpdatedAt: row.status_updated_at?.toISOString() ?? null,
    notHumanReason: row.not_human_reason,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(expand.includes('user') && { user: users.get(row.user_id) }),
    ...(expand.includes('reasonProvider') && { reasonProvider: users.get(row.reason_provider_id ?? 0) ?? null }),
    ...(expand.includes('complianceChecks') && { complianceChecks: [] }),
    ...(expand.includes('customFields') && { customFields: [] }),
  }))
}
