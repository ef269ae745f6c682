import { type Kysely, type Selectable, sql } from 'kysely'
import type { UserCompact } from '../../contract/platform/common.ts'
import type { PersonRef } from '../../contract/platform/personnel.ts'
import type { User, UserExpand, users } from '../../contract/platform/users.ts'
import type { Handlers } from '../../http/mount.ts'
import { Refusal } from '../../http/refusal.ts'
import { backgroundChecksOf } from './background-checks.ts'
import { compactConnections } from '../connections/names.ts'
import type { PlatformContext } from '../core/context.ts'
import { listPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'
import { identitiesOf, presentUserIdentity } from './user-identities.ts'

type Row = Selectable<PlatformSchema['users']>
type Reader = Pick<PlatformContext, 'db' | 'accountId' | 'now'>

const emailPrefix = 'email:'

export const userHandlers: Handlers<typeof users, PlatformContext> = {
  async listUsers(ctx, { query }) {
    const { firstName, lastName } = query
    const { rows, pagination } = await listPage(ctx, {
      table: 'users',
      where: sql`account_id = ${ctx.accountId}${beginning('first_name', firstName)}${beginning('last_name', lastName)}`,
      filter: { firstName, lastName },
      query,
    })
    return { status: 200, body: { data: await presentUsers(ctx, rows, query['expand[]']), pagination } }
  },

  async getUser(ctx, { params, query }) {
    const row = await findUser(ctx, params.userId)
    const [user] = row ? await presentUsers(ctx, [row], query['expand[]']) : []
    if (!user) throw new Refusal(404, 'There is no such user')
    return { status: 200, body: user }
  },
}

/** These users in full, in the same order, with what `expand` asks for. */
export async function presentUsers(
  ctx: Reader,
  rows: readonly Row[],
  expand: readonly UserExpand[] = [],
): Promise<User[]> {
  const ids = rows.map((row) => row.id)
  const identities = await identitiesOf(ctx, ids)
  const checks = expand.includes('backgroundChecks') ? await backgroundChecksOf(ctx, ids) : null
  const connections = expand.includes('identities')
    ? await compactConnections(
        ctx.db,
        ctx.accountId,
        [...identities.values()].flat().map((identity) => identity.connection_id),
      )
    : null
  return rows.map((row) => ({
    ...compactUser(row),
    jobTitle: identities.get(row.id)?.[0]?.job_title ?? row.job_title,
    avatarUrl: null,
    drataTermsAgreedAt: null,
    ...(expand.includes('roles') && { roles: [row.origin === 'api_key' ? 'SERVICE_USER' : 'EMPLOYEE'] }),
    ...(checks && { backgroundChecks: [...(checks.get(row.id) ?? [])] }),
    ...(expand.includes('documents') && { documents: [] }),
    ...(connections && {
      identities: (identities.get(row.id) ?? []).flatMap((identity) => {
        const connection = connections.get(identity.connection_id)
        return connection ? [presentUserIdentity(identity, connection)] : []
      }),
    }),
  }))
}

/** The users of the account among `ids` in full, by id. */
export async function fullUsers(ctx: Reader, ids: readonly (number | null)[]): Promise<ReadonlyMap<number, User>> {
  const users = await presentUsers(ctx, await rowsOf(ctx.db, ctx.accountId, ids))
  return new Map(users.map((user) => [user.id, user]))
}

/** The users of `accountId` among `ids`, by id. */
export async function compactUsers(
  db: Kysely<PlatformSchema>,
  accountId: number,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, UserCompact>> {
  const rows = await rowsOf(db, accountId, ids)
  return new Map(rows.map((row) => [row.id, compactUser(row)]))
}

// What makes a pattern of a text is taken literally.
function beginning(column: 'first_name' | 'last_name', text: string | undefined) {
  if (text === undefined) return sql``
  const pattern = `${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  return sql` and lower(${sql.ref(column)}) like lower(${pattern})`
}

async function findUser(ctx: PlatformContext, reference: PersonRef): Promise<Row | undefined> {
  const user = ctx.db.selectFrom('users').selectAll().where('account_id', '=', ctx.accountId)
  if (typeof reference === 'number') return user.where('id', '=', reference).executeTakeFirst()
  const email = reference.slice(emailPrefix.length)
  if (!isStorableText(email)) return undefined
  return user.where(sql<boolean>`lower(email) = lower(${email})`).executeTakeFirst()
}

async function rowsOf(db: Kysely<PlatformSchema>, accountId: number, ids: readonly (number | null)[]): Promise<Row[]> {
  const wanted = [...new Set(ids.filter((id) => id !== null))]
  if (wanted.length === 0) return []
  return db.selectFrom('users').selectAll().where('account_id', '=', accountId).where('id', 'in', wanted).execute()
}

function compactUser(row: Row): UserCompact {
  return {
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
