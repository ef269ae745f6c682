import { type Selectable, sql } from 'kysely'
import type { Role, RoleRef, roles } from '../../contract/platform/roles.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'
import { replyWithUsers } from './users.ts'

type Row = Selectable<PlatformSchema['roles']>

const namePrefix = 'role:'

/** The handlers of the operations on roles. */
export const roleHandlers: Handlers<typeof roles, PlatformContext> = {
  async listRoles(ctx, { query }) {
    return replyWithPage(ctx, {
      table: 'roles',
      where: sql`true`,
      query,
      present: (rows) => rows.map((row) => presentRole(row, query['expand[]'])),
    })
  },

  async getRole(ctx, { params, query }) {
    return { status: 200, body: presentRole(await findRole(ctx, params.roleId), query['expand[]']) }
  },

  async listUsersWithRole(ctx, { params, query }) {
    const { role } = await findRole(ctx, params.roleId)
    return replyWithUsers(ctx, query, role)
  },
}

async function findRole({ db }: PlatformContext, reference: RoleRef): Promise<Row> {
  const [column, value] =
    typeof reference === 'number'
      ? (['id', reference] as const)
      : (['role', reference.slice(namePrefix.length)] as const)
  const row =
    typeof value === 'number' || isStorableText(value)
      ? await db.selectFrom('roles').selectAll().where(sql.ref(column), '=', value).orderBy('id').executeTakeFirst()
      : undefined
  if (!row) throw new Refusal(404, 'There is no such role')
  return row
}

// People do not sign in to this platform, and what an API key may do is a property of the key: roles permit nothing.
function presentRole(row: Row, expand: readonly string[] = []): Role {
  return {
    id: row.id,
    role: row.role,
    ...presentTimes(row),
    ...(expand.includes('permissions') && { permissions: [] }),
  }
}
