import { type Selectable, sql } from 'kysely'
import type { Audit, AuditItem, audits } from '../../contract/platform/audits.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { requireWorkspace } from '../company/workspaces.ts'
import type { PlatformContext } from '../core/context.ts'
import { listPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { auditorsOf, controlsOfAudits, internalAuditorsOf } from './expansions.ts'

type Row = Selectable<PlatformSchema['audits']>
type Expansions = readonly ('auditors' | 'internalAuditors' | 'controls')[]

export const auditHandlers: Handlers<typeof audits, PlatformContext> = {
  async listAudits(ctx, { params, query }) {
    const { workspaceId } = params
    await requireWorkspace(ctx.db, ctx.accountId, workspaceId)
    const { rows, pagination } = await listPage(ctx, {
      table: 'audits',
      where: sql`workspace_id = ${workspaceId}`,
      filter: { workspaceId },
      query,
    })
    return { status: 200, body: { data: await present(ctx, rows, query['expand[]']), pagination } }
  },

  async getAudit(ctx, { params, query }) {
    const row = await findAudit(ctx, params)
    const expand = query['expand[]'] ?? []
    const [item = presentRow(row)] = await present(ctx, [row], expand)
    const controls = expand.includes('controls') ? await controlsOfAudits(ctx.db, [row.id]) : null
    const audit: Audit = { ...item, ...(controls && { controls: controls.get(row.id) ?? [] }) }
    return { status: 200, body: audit }
  },
}

/** The audit of that id in that workspace of the caller; any other is as absent as one that never was. */
export async function findAudit(
  ctx: PlatformContext,
  { workspaceId, auditId }: { readonly workspaceId: number; readonly auditId: string },
): Promise<Row> {
  const row = await ctx.db
    .selectFrom('audits')
    .innerJoin('workspaces', 'workspaces.id', 'audits.workspace_id')
    .selectAll('audits')
    .where('workspaces.account_id', '=', ctx.accountId)
    .where('audits.workspace_id', '=', workspaceId)
    .where('audits.uuid', '=', auditId)
    .executeTakeFirst()
  if (row) return row
  throw new Refusal(404, `There is no audit ${auditId} in a workspace ${workspaceId}`)
}

async function present(ctx: PlatformContext, rows: readonly Row[], expand: Expansions = []): Promise<AuditItem[]> {
  const ids = rows.map(({ id }) => id)
  const auditors = expand.includes('auditors') ? await auditorsOf(ctx.db, ids) : null
  const internal = expand.includes('internalAuditors') ? await internalAuditorsOf(ctx, ids) : null
  return rows.map((row) => ({
    ...presentRow(row),
    ...(auditors && { auditors: auditors.get(row.id) ?? [] }),
    ...(internal && { internalAuditors: internal.get(row.id) ?? [] }),
  }))
}

function presentRow(row: Row): AuditItem {
  return {
    id: row.uuid,
    frameworkType: row.framework_type,
    auditType: row.audit_type,
    isInternalAudit: row.is_internal,
    status: row.status,
    startDate: row.start_date,
    endDate: row.end_date,
    completedAt: row.completed_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
