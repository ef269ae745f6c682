import { sql } from 'kysely'
import type { Control, ControlExpand, controls } from '../../contract/platform/controls.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { requireCustomFields } from '../company/custom-fields.ts'
import { requireWorkspace } from '../company/workspaces.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { presentRows } from '../core/present-rows.ts'
import { presentTimes } from '../core/rows.ts'
import { createControl } from './create-control.ts'
import { controlLoaders, withProofs } from './expansions.ts'
import { filterConditions } from './filters.ts'
import { type ControlRow, findControl } from './find-control.ts'

/** The handlers of the operations on controls. */
export const controlHandlers: Handlers<typeof controls, PlatformContext> = {
  async listControls(ctx, { params: { workspaceId }, query }) {
    const { cursor, size, sort, sortDir, includeTotalCount, 'expand[]': expand, ...filters } = query
    requireCustomFields(ctx, { expand })
    await requireWorkspace(ctx.db, ctx.accountId, workspaceId)
    return replyWithPage(ctx, {
      table: 'controls',
      where: sql`account_id = ${ctx.accountId} and workspace_id = ${workspaceId}${filterConditions(filters, today(ctx))}`,
      filter: { workspaceId, ...filters },
      query: { cursor, size, sort, sortDir, includeTotalCount },
      present: (rows) => present(ctx, rows, expand),
    })
  },

  async createControl(ctx, { params, body }) {
    requireCustomFields(ctx, { submitted: body.customFields })
    const row = await ctx.db.transaction().execute((trx) => createControl(trx, ctx, params.workspaceId, body))
    return { status: 201, body: presentRow(row) }
  },

  async getControl(ctx, { params, query }) {
    requireCustomFields(ctx, { expand: query['expand[]'] })
    const row = await findControl(ctx.db, ctx, params)
    const [control = presentRow(row)] = await present(ctx, [row], query['expand[]'])
    return { status: 200, body: control }
  },
}

function present(
  ctx: PlatformContext,
  rows: readonly ControlRow[],
  expand?: readonly ControlExpand[],
): Promise<Control[]> {
  return presentRows(rows, {
    present: presentRow,
    expand: withProofs(expand),
    loaders: controlLoaders(ctx, rows, today(ctx)),
  })
}

function presentRow(row: ControlRow): Control {
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
    ...presentTimes(row),
    controlTemplateId: row.template_id,
  }
}

function today(ctx: PlatformContext): string {
  return ctx.now().toISOString().slice(0, 10)
}
