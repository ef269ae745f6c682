import { type Kysely, sql } from 'kysely'
import type { UserCompact } from '../../contract/platform/common.ts'
import { controlOwners } from '../../contract/platform/control-owners.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { type ListQuery, listPage, type Pagination } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { recordEvent } from '../events/store-events.ts'
import { type ControlRow, findControl, lockControl } from './find-control.ts'

type Trx = Kysely<PlatformSchema>
type OwnerFilters = {
  readonly frameworkSlug?: string
  readonly included?: readonly number[]
  readonly excluded?: readonly number[]
}

const defaultPageSize = 50

export const controlOwnerHandlers: Handlers<typeof controlOwners, PlatformContext> = {
  async listControlOwners(ctx, { params, query }) {
    const control = await findControl(ctx.db, ctx, params)
    const { frameworkSlug, 'includeUserIds[]': included, excludeUserIds: excluded } = query
    return { status: 200, body: await ownerPage(ctx, control, query, { frameworkSlug, included, excluded }) }
  },

  async addControlOwner(ctx, { params, body }) {
    const user = await ctx.db.transaction().execute(async (trx) => {
      const control = await lockControl(trx, ctx, params)
      await lockUsersForShare(trx, ctx, [body.ownerId])
      await insertOwners(trx, ctx, control, [body.ownerId])
      return compactUsers(trx, ctx.accountId, [body.ownerId])
    })
    return { status: 201, body: user.get(body.ownerId) ?? refuseUnknown() }
  },

  async modifyControlOwners(ctx, { params, body }) {
    const ownerIds = [...new Set(body.ownerUserIds)]
    await ctx.db.transaction().execute(async (trx) => {
      const control = await lockControl(trx, ctx, params)
      await lockUsersForShare(trx, ctx, ownerIds)
      await deleteOwners(trx, ctx, control, sql<boolean>`user_id <> all(${ownerIds}::bigint[])`)
      await insertOwners(trx, ctx, control, ownerIds)
    })
    return { status: 200, body: { ownerIds } }
  },

  async deleteControlOwner(ctx, { params }) {
    const control = await ctx.db.transaction().execute(async (trx) => {
      const locked = await lockControl(trx, ctx, params)
      const deleted = await deleteOwners(trx, ctx, locked, sql<boolean>`user_id = ${params.ownerId}`)
      if (deleted === 0) throw new Refusal(404, `User ${params.ownerId} does not own control ${params.controlId}`)
      return locked
    })
    // The page goes on where a listing of the owners would.
    const listing = { ...ctx, operation: controlOwners.listControlOwners }
    return { status: 200, body: await ownerPage(listing, control, { size: defaultPageSize }) }
  },
}

async function ownerPage(
  ctx: PlatformContext,
  { id: controlId, workspace_id }: ControlRow,
  query: ListQuery,
  filters: OwnerFilters = {},
): Promise<{ data: UserCompact[]; pagination: Pagination }> {
  const { frameworkSlug, included, excluded = [] } = filters
  const { rows, pagination } = await listPage(ctx, {
    table: 'users',
    // As an array the owners are read first, and users by their ids; as a subquery all users might be read in order.
    where: sql`
      account_id = ${ctx.accountId}
      and id = any(array(select user_id from control_owners where control_id = ${controlId}))
      and id <> all(${excluded}::bigint[])
      ${included ? sql`and id = any(${included}::bigint[])` : sql``}
      ${frameworkSlug === undefined ? sql`` : serves(frameworkSlug, workspace_id)}
    `,
    filter: { controlId, frameworkSlug, included, excluded },
    query,
  })
  const users = await compactUsers(
    ctx.db,
    ctx.accountId,
    rows.map(({ id }) => id),
  )
  return { data: rows.flatMap(({ id }) => users.get(id) ?? []), pagination }
}

function serves(frameworkSlug: string, workspaceId: number) {
  return sql`and exists (
    select from control_owners as owned
    join controls on controls.id = owned.control_id and controls.workspace_id = ${workspaceId}
    join control_requirements as mapped on mapped.control_id = owned.control_id
    join requirements on requirements.id = mapped.requirement_id
    join frameworks on frameworks.id = requirements.framework_id
    where owned.user_id = users.id and frameworks.slug = ${frameworkSlug}
  )`
}

// In the order of their ids, so that two requests never wait for each other in a circle.
async function lockUsersForShare(trx: Trx, ctx: PlatformContext, ids: readonly number[]): Promise<void> {
  const users = await trx
    .selectFrom('users')
    .select('id')
    .where('account_id', '=', ctx.accountId)
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .orderBy('id')
    .forKeyShare()
    .execute()
  if (users.length < ids.length) refuseUnknown()
}

function refuseUnknown(): never {
  throw new Refusal(404, 'There is no such user')
}

async function insertOwners(
  trx: Trx,
  ctx: PlatformContext,
  control: ControlRow,
  userIds: readonly number[],
): Promise<void> {
  const { rows } = await sql<{ user_id: number }>`
    insert into control_owners (control_id, user_id, created_at)
    select ${control.id}::bigint, wanted.id, ${ctx.now()}::timestamptz from unnest(${userIds}::bigint[]) as wanted (id)
    on conflict do nothing
    returning user_id
  `.execute(trx)
  await recordOwners(trx, ctx, { type: 'CONTROL_OWNER_ADDED', done: 'Added owners to', control, rows })
}

async function deleteOwners(
  trx: Trx,
  ctx: PlatformContext,
  control: ControlRow,
  which: ReturnType<typeof sql<boolean>>,
): Promise<number> {
  const rows = await trx
    .deleteFrom('control_owners')
    .where('control_id', '=', control.id)
    .where(which)
    .returning('user_id')
    .execute()
  await recordOwners(trx, ctx, { type: 'CONTROL_OWNER_DELETED', done: 'Removed owners from', control, rows })
  return rows.length
}

async function recordOwners(
  trx: Trx,
  ctx: PlatformContext,
  {
    type,
    done,
    control,
    rows,
  }: {
    type: 'CONTROL_OWNER_ADDED' | 'CONTROL_OWNER_DELETED'
    done: string
    control: ControlRow
    rows: readonly { user_id: number }[]
  },
): Promise<void> {
  if (rows.length === 0) return
  await trx
    .updateTable('controls')
    .set({
      updated_at: sql`greatest(updated_at, ${ctx.now()}::timestamptz)`,
      changed_in: sql`pg_current_xact_id()`,
    })
    .where('id', '=', control.id)
    .execute()
  await recordEvent(trx, ctx, {
    type,
    description: `${done} the control ${control.code}.`,
    target: { kind: 'control', id: control.id },
    targets: { kind: 'user', ids: rows.map((row) => row.user_id) },
    workspaceId: control.workspace_id,
  })
}
