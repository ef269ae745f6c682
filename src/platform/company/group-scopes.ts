import { type Kysely, sql } from 'kysely'
import type { GroupCompact, groups, ScopedGroup } from '../../contract/platform/groups.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { pluralize } from '../../web/words.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { contains } from '../core/text-filters.ts'
import { recordEvent } from '../events/store-events.ts'
import { countGrouped, countsByWorkspace, groupsOf } from './groups.ts'
import { lockWorkspace, requireWorkspace } from './workspaces.ts'

type Scope = { readonly workspaceId: number; readonly groupIds: readonly number[] }

/** The handlers of the operations on groups and scopes. */
export const groupHandlers: Handlers<typeof groups, PlatformContext> = {
  async listGroups(ctx, { query }) {
    return replyWithPage(ctx, {
      table: 'personnel_groups',
      where: sql`account_id = ${ctx.accountId} and ${query.q === undefined ? sql`true` : contains('name', query.q)}`,
      filter: { q: query.q },
      query,
      present: async (rows) => {
        const known = await groupsOf(
          ctx,
          rows.map(({ id }) => id),
        )
        return rows.flatMap(({ id }) => known.get(id) ?? [])
      },
    })
  },

  async listScopedGroups(ctx, { params, query }) {
    await requireWorkspace(ctx.db, ctx.accountId, params.workspaceId)
    return replyWithPage(ctx, {
      table: 'workspace_groups',
      where: sql`workspace_id = ${params.workspaceId}`,
      filter: params,
      query,
      present: async (rows) => {
        const known = await groupsOf(
          ctx,
          rows.map((row) => row.group_id),
        )
        return rows.flatMap((row) => known.get(row.group_id) ?? []).map(presentScoped)
      },
    })
  },

  async addScopedGroup(ctx, { params, body }) {
    const group = await ctx.db.transaction().execute(async (trx) => {
      await lockWorkspace(trx, ctx.accountId, params.workspaceId)
      const scope = { ...params, groupIds: [body.groupId] }
      const [added] = await requireGroups(trx, ctx, scope.groupIds)
      const isNew = (await addToScope(trx, ctx, scope)) > 0
      if (!isNew) throw new Refusal(409, `The group ${body.groupId} is in the scope of the workspace already`)
      await recordScope(trx, ctx, scope, `The group ${body.groupId} was added to the scope`)
      return added
    })
    if (!group) throw new Error('the group was not read')
    return { status: 201, body: presentScoped(group) }
  },

  async replaceScopedGroups(ctx, { params, body }) {
    await ctx.db.transaction().execute(async (trx) => {
      await lockWorkspace(trx, ctx.accountId, params.workspaceId)
      const scope = { ...params, groupIds: [...new Set(body.groupIds)] }
      await requireGroups(trx, ctx, scope.groupIds)
      const removed = await removeFromScope(
        trx,
        params.workspaceId,
        sql<boolean>`group_id <> all(${scope.groupIds}::bigint[])`,
      )
      const added = await addToScope(trx, ctx, scope)
      if (added + removed === 0) return
      await recordScope(trx, ctx, scope, `The scope became ${pluralize(scope.groupIds.length, 'group')}`)
    })
    return { status: 204 }
  },

  async removeScopedGroup(ctx, { params: { workspaceId, groupId } }) {
    await ctx.db.transaction().execute(async (trx) => {
      await lockWorkspace(trx, ctx.accountId, workspaceId)
      const removed = await removeFromScope(trx, workspaceId, sql<boolean>`group_id = ${groupId}`)
      if (removed === 0) throw new Refusal(404, `The scope of the workspace has no group ${groupId}`)
      const scope = { workspaceId, groupIds: [groupId] }
      await recordScope(trx, ctx, scope, `The group ${groupId} was removed from the scope`)
    })
    return { status: 204 }
  },

  async getScopedCounts(ctx, { params: { workspaceId } }) {
    await requireWorkspace(ctx.db, ctx.accountId, workspaceId)
    const scoped = await countsByWorkspace(ctx.db, [workspaceId])
    const totalPersonnelCount = await countGrouped(ctx)
    return { status: 200, body: { scopedPersonnelCount: scoped.get(workspaceId) ?? 0, totalPersonnelCount } }
  },
}

function presentScoped({ id, name, source }: GroupCompact): ScopedGroup {
  return { id, name, connectionProvider: source }
}

async function requireGroups(
  trx: Kysely<PlatformSchema>,
  { accountId }: PlatformContext,
  ids: readonly number[],
): Promise<GroupCompact[]> {
  // A group that an operator removes meanwhile is then an unknown one.
  await sql`
    select id from personnel_groups where account_id = ${accountId} and id = any(${ids}::bigint[]) order by id for key share
  `.execute(trx)
  const known = await groupsOf({ db: trx, accountId }, ids)
  const unknown = ids.find((id) => !known.has(id))
  if (unknown !== undefined) throw new Refusal(400, `There is no group ${unknown}`)
  return [...known.values()]
}

async function addToScope(
  trx: Kysely<PlatformSchema>,
  { now }: PlatformContext,
  { workspaceId, groupIds }: Scope,
): Promise<number> {
  const times = { created_at: now(), updated_at: now() }
  const rows = groupIds.map((groupId) => ({ workspace_id: workspaceId, group_id: groupId, ...times }))
  return (await addRows(trx, 'workspace_groups', rows)).length
}

async function removeFromScope(
  trx: Kysely<PlatformSchema>,
  workspaceId: number,
  which: ReturnType<typeof sql<boolean>>,
): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('workspace_groups')
    .where('workspace_id', '=', workspaceId)
    .where(which)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

async function recordScope(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  scope: Scope,
  change: string,
): Promise<void> {
  await recordEvent(trx, ctx, {
    type: 'WORKSPACE_SCOPE_UPDATED',
    description: `${change} of workspace ${scope.workspaceId}`,
    target: { kind: 'workspace', id: scope.workspaceId },
    targets: { kind: 'group', ids: scope.groupIds },
    workspaceId: scope.workspaceId,
  })
}
