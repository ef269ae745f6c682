import { type Selectable, sql } from 'kysely'
import type { Audit, audits } from '../../contract/platform/audits.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { requireWorkspace } from '../company/workspaces.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { listById, presentRows } from '../core/present-rows.ts'
import { presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { auditorsOf, controlsOfAudits, internalAuditorsOf } from './expansions.ts'

type Row = Selectable<PlatformSchema['audits']>
type AuditPath = { readonly workspaceId: number; readonly auditId: string }

/** The handlers of the operations on audits. */
export const auditHandlers: Handlers<typeof audits, PlatformContext> = {
  async listAudits(ctx, { params, query }) {
    const { workspaceId } = params
    await requireWorkspace(ctx.db, ctx.accountId, workspaceId)
    return replyWithPage(ctx, {
      table: 'audits',
      where: sql`workspace_id = ${workspaceId}`,
      filter: { workspaceId },
      query,
      present: (rows) => present(ctx, rows, query['expand[]']),
    })
  },

  async getAudit(ctx, { params, query }) {
    const row = await findAudit(ctx, params)
    const [audit = presentRow(row)] = await present(ctx, [row], query['expand[]'])
    return { status: 200, body: audit }
  },
}

/** The audit of that id in that workspace of the caller's account; any other is refused with 404. */
export async function findAudit(ctx: PlatformContext, { workspaceId, auditId }: AuditPath): Promise<Row> {
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

function present(ctx: PlatformContext, rows: readonly Row[], expand?: readonly string[]): Promise<Audit[]> {
  const ids = rows.map(({ id }) => id)
  const loaders = {
    auditors: async () => listById(await auditorsOf(ctx.db, ids)),
    internalAuditors: async () => listById(await internalAuditorsOf(ctx, ids)),
    controls: async () => listById(await controlsOfAudits(ctx.db, ids)),
  }
  return presentRows(rows, { present: presentRow, expand, loaders })
}

function presentRow(row: Row): Audit {
  return {
    id: row.uuid,
    frameworkType: row.framework_type,
    auditType: row.audit_type,
    isInternalAudit: row.is_internal,
    status: row.status,
    startDate: row.start_date,
    endDate: row.end_date,
    completedAt: row.completed_at?.toISOString() ?? null,
    ...presentTimes(row),
  }
}
