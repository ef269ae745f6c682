import { sql } from 'kysely'
import type { Control, ControlExpand, controls } from '../../contract/platform/controls.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { requireWorkspace } from '../company/workspaces.ts'
import type { PlatformContext } from '../core/context.ts'
import { listPage } from '../core/pages.ts'
import { createControl } from './create-control.ts'
import { expandControls } from './expansions.ts'
import { filterConditions } from './filters.ts'
import { type ControlRow, findControl } from './find-control.ts'

export const controlHandlers: Handlers<typeof controls, PlatformContext> = {
  async listControls(ctx, { params: { workspaceId }, query }) {
    const { cursor, size, sort, sortDir, includeTotalCount, 'expand[]': expand, ...filters } = query
    await requireWorkspace(ctx.db, ctx.accountId, workspaceId)
    const { rows, pagination } = await listPage(ctx, {
      table: 'controls',
      where: sql`account_id = ${ctx.accountId} and workspace_id = ${workspaceId}${filterConditions(filters, today(ctx))}`,
      filter: { workspaceId, ...filters },
      query: { cursor, size, sort, sortDir, includeTotalCount },
    })
    return { status: 200, body: { data: await present(ctx, rows, expand), pagination } }
  },

  async createControl(ctx, { params, body }) {
    const row = await ctx.db.transaction().execute((trx) => createControl(trx, ctx, params.workspaceId, body))
    return { status: 201, body: plain(row) }
  },

  async getControl(ctx, { params, query }) {
    const row = await findControl(ctx.db, ctx, params)
    const [control = plain(row)] = await present(ctx, [row], query['expand[]'])
    return { status: 200, body: control }
  },
}

async function present(
  ctx: PlatformContext,
  rows: readonly ControlRow[],
  expand: readonly ControlExpand[] = [],
): Promise<Control[]> {
  const extras = await expandControls(ctx, rows, { expand: new Set(expand), day: today(ctx) })
  return rows.map((row) => ({ ...plain(row), ...extras(row) }))
}

function plain(row: ControlRow): Control {
  return {
    id: row.id,
    name: row.name,
    code: row.code,
    slug: row.slug,
    description: row.description,
    question: row.question,
    activity: row.activity,
    archivedAt: row.archived_at?.toISOString() ?? null,
    rationale: row.rationale,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    controlTemplateId: row.template_id,
  }
}

function today(ctx: PlatformContext): string {
  return ctx.now().toISOString().slice(0, 10)
}
