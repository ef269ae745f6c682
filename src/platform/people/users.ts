import { type Selectable, sql } from 'kysely'
import type { PersonRef } from '../../contract/platform/personnel.ts'
import type { RoleName } from '../../contract/platform/roles.ts'
import type { ConnectionCompact, User, UserExpand, UserIdentity, users } from '../../contract/platform/users.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { compactConnections, compactUser, userRows } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { type ListQuery, replyWithPage } from '../core/pages.ts'
import { listById, presentRows } from '../core/present-rows.ts'
import { anyOf } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'
import { beginsWith } from '../core/text-filters.ts'
import { presentIdentity } from '../identities/rows.ts'
import { leadingRecordFirst } from '../identity-sync/identity-sync.ts'
import { backgroundChecksOf } from './background-checks.ts'
import { userDocumentsOf } from './user-documents.ts'

type Row = Selectable<PlatformSchema['users']>

/** A live HR record with the user that the identity sync matched. */
type MatchedIdentity = Selectable<PlatformSchema['hris_user_identities']> & { readonly user_id: number }

type IdentitiesByUser = ReadonlyMap<number, readonly MatchedIdentity[]>

type Reader = Pick<PlatformContext, 'db' | 'accountId' | 'now' | 'cursorSecret' | 'baseUrl'>

const emailPrefix = 'email:'

/** The handlers of the operations on users. */
export const userHandlers: Handlers<typeof users, PlatformContext> = {
  async listUsers(ctx, { query }) {
    return replyWithUsers(ctx, query)
  },

  async getUser(ctx, { params, query }) {
    const row = await findUser(ctx, params.userId)
    const [user] = row ? await presentUsers(ctx, [row], query['expand[]']) : []
    if (!user) throw new Refusal(404, 'There is no such user')
    return { status: 200, body: user }
  },
}

type UsersQuery = ListQuery & {
  readonly firstName?: string
  readonly lastName?: string
  readonly 'expand[]'?: readonly UserExpand[] | undefined
}

/** One page of the users of the account, or of those with a role. */
export function replyWithUsers(ctx: PlatformContext, query: UsersQuery, role?: RoleName) {
  const { firstName, lastName } = query
  const conditions = [sql`account_id = ${ctx.accountId}`]
  if (firstName !== undefined) conditions.push(beginsWith('first_name', firstName))
  if (lastName !== undefined) conditions.push(beginsWith('last_name', lastName))
  if (role !== undefined) conditions.push(sql`roles @> ${[role]}::text[]`)
  return replyWithPage(ctx, {
    table: 'users',
    where: sql.join(conditions, sql` and `),
    filter: { firstName, lastName, role },
    query,
    present: (rows) => presentUsers(ctx, rows, query['expand[]']),
  })
}

/** The users in the order of `rows`, with the requested expansions. */
async function presentUsers(ctx: Reader, rows: readonly Row[], expand: readonly UserExpand[] = []): Promise<User[]> {
  const ids = rows.map((row) => row.id)
  const identities = await identitiesOf(ctx, ids)
  const present = (row: Row) => ({
    ...compactUser(row),
    jobTitle: identities.get(row.id)?.[0]?.job_title ?? row.job_title,
    avatarUrl: null,
    drataTermsAgreedAt: null,
  })
  const loaders = {
    roles: async () => (row: Row) => row.roles,
    backgroundChecks: async () => listById(await backgroundChecksOf(ctx, ids)),
    documents: async () => listById(await userDocumentsOf(ctx, ids)),
    identities: async () => listById(await presentIdentities(ctx, identities)),
  }
  return presentRows(rows, { present, expand, loaders })
}

async function presentIdentities(
  ctx: Reader,
  identities: IdentitiesByUser,
): Promise<ReadonlyMap<number, UserIdentity[]>> {
  const connectionIds = [...identities.values()].flat().map((identity) => identity.connection_id)
  const connections = await compactConnections(ctx.db, ctx.accountId, connectionIds)
  const present = (identity: MatchedIdentity) => {
    const connection = connections.get(identity.connection_id)
    return connection ? [presentUserIdentity(identity, connection)] : []
  }
  return new Map([...identities].map(([userId, records]) => [userId, records.flatMap(present)]))
}

/** The users of the account among `ids`, by id. */
export async function fullUsers(ctx: Reader, ids: readonly (number | null)[]): Promise<ReadonlyMap<number, User>> {
  const presented = await presentUsers(ctx, await userRows(ctx.db, ctx.accountId, ids))
  return new Map(presented.map((user) => [user.id, user]))
}

/** The live HR records of these users by user id, the leading record first. */
async function identitiesOf({ db, accountId, now }: Reader, userIds: readonly number[]): Promise<IdentitiesByUser> {
  const { rows } = await sql<MatchedIdentity>`
    select identity.*, matched.user_id
    from identity_matches as matched
    join users on users.id = matched.user_id and users.account_id = ${accountId}
    join hris_user_identities as identity on identity.id = matched.identity_row_id and identity.deleted_at is null
    where matched.user_id = ${anyOf(userIds)}
    order by matched.user_id, ${leadingRecordFirst(now())}
  `.execute(db)
  return Map.groupBy(rows, (row) => row.user_id)
}

function presentUserIdentity(row: MatchedIdentity, connection: ConnectionCompact): UserIdentity {
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

/** The user of that id or e-mail address in the caller's account, or undefined. */
export async function findUser(
  ctx: Pick<PlatformContext, 'db' | 'accountId'>,
  reference: PersonRef,
): Promise<Row | undefined> {
  const user = ctx.db.selectFrom('users').selectAll().where('account_id', '=', ctx.accountId)
  if (typeof reference === 'number') return user.where('id', '=', reference).executeTakeFirst()
  const email = reference.slice(emailPrefix.length)
  if (!isStorableText(email)) return undefined
  return user.where(sql<boolean>`fold_case(email) = fold_case(${email})`).executeTakeFirst()
}
