import { type Kysely, sql } from 'kysely'
import type { UserCompact } from '../../contract/platform/common.ts'
import { controlOwners } from '../../contract/platform/control-owners.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { type ListQuery, listPage, type Pagination } from '../core/pages.ts'
import { anyOf, changedAt } from '../core/rows.ts'
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

/** The handlers of the operations on control owners. */
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
    // The cursor of this page continues with `listControlOwners`.
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
    // With an array PostgreSQL reads the owners first, and then users by id. With a subquery it may read all users in order.
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

// Locks by id, so that two requests never deadlock.
async function lockUsersForShare(trx: Trx, ctx: PlatformContext, ids: readonly number[]): Promise<void> {
  const users = await trx
    .selectFrom('users')
    .select('id')
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', anyOf(ids))
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
    select ${control.id}::bigint, owner.id, ${ctx.now()}::timestamptz from unnest(${userIds}::bigint[]) as owner (id)
    on conflict do nothing
    returning user_id
  `.execute(trx)
  await recordOwners(trx, ctx, control, 'ADDED', rows)
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
  await recordOwners(trx, ctx, control, 'DELETED', rows)
  return rows.length
}

async function recordOwners(
  trx: Trx,
  ctx: PlatformContext,
  control: ControlRow,
  change: 'ADDED' | 'DELETED',
  rows: readonly { readonly user_id: number }[],
): Promise<void> {
  if (rows.length === 0) return
  await trx.updateTable('controls').set(changedAt(ctx.now())).where('id', '=', control.id).execute()
  const verb = change === 'ADDED' ? 'Added owners to' : 'Removed owners from'
  await recordEvent(trx, ctx, {
    type: `CONTROL_OWNER_${change}`,
    description: `${verb} the control ${control.code}.`,
    target: { kind: 'control', id: control.id },
    targets: { kind: 'user', ids: rows.map((row) => row.user_id) },
    workspaceId: control.workspace_id,
  })
}
