import { type RawBuilder, type Selectable, sql } from 'kysely'
import type {
  AuditRequest,
  AuditRequestItem,
  AuditRequestStatus,
  auditRequests,
} from '../../contract/platform/audit-requests.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { listPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { findAudit } from './audits.ts'
import { controlsOfRequests, messagesOf, ownersOf } from './expansions.ts'

type Row = Selectable<PlatformSchema['audit_requests']>
type Expansions = readonly ('owners' | 'messages' | 'controls')[]

export const auditRequestHandlers: Handlers<typeof auditRequests, PlatformContext> = {
  async listAuditRequests(ctx, { params, query }) {
    const audit = await findAudit(ctx, params)
    const { 'status[]': statuses, 'userIds[]': userIds } = query
    const { rows, pagination } = await listPage(ctx, {
      table: 'audit_requests',
      where: sql`audit_id = ${audit.id} ${inStatus(statuses)} ${ownedBy(userIds)}`,
      filter: { auditId: audit.id, statuses: distinct(statuses), userIds: distinct(userIds) },
      query,
    })
    const data = await present(ctx, rows, { auditId: audit.uuid, expand: query['expand[]'] ?? [] })
    return { status: 200, body: { data, pagination } }
  },

  async getAuditRequest(ctx, { params, query }) {
    const audit = await findAudit(ctx, params)
    const row = await ctx.db
      .selectFrom('audit_requests')
      .selectAll()
      .where('audit_id', '=', audit.id)
      .where('id', '=', params.requestId)
      .executeTakeFirst()
    if (!row) throw new Refusal(404, `There is no request ${params.requestId} of the audit ${params.auditId}`)
    const expand = query['expand[]'] ?? []
    const [item = presentRow(row, audit.uuid)] = await present(ctx, [row], { auditId: audit.uuid, expand })
    const controls = expand.includes('controls') ? await controlsOfRequests(ctx.db, [row.id]) : null
    const request: AuditRequest = { ...item, ...(controls && { controls: controls.get(row.id) ?? [] }) }
    return { status: 200, body: request }
  },
}

function inStatus(statuses: readonly AuditRequestStatus[] = []): RawBuilder<unknown> {
  return statuses.length === 0 ? sql`` : sql`and status = any(${statuses}::text[])`
}

function ownedBy(userIds: readonly number[] = []): RawBuilder<unknown> {
  if (userIds.length === 0) return sql``
  return sql`and id in (select request_id from audit_request_owners where user_id = any(${userIds}::bigint[]))`
}

function distinct<T>(values: readonly T[] = []): T[] {
  return [...new Set(values)].toSorted()
}

async function present(
  ctx: PlatformContext,
  rows: readonly Row[],
  { auditId, expand }: { readonly auditId: string; readonly expand: Expansions },
): Promise<AuditRequestItem[]> {
  const ids = rows.map(({ id }) => id)
  const owners = expand.includes('owners') ? await ownersOf(ctx, ids) : null
  const messages = expand.includes('messages') ? await messagesOf(ctx.db, ids) : null
  return rows.map((row) => ({
    ...presentRow(row, auditId),
    ...(owners && { owners: owners.get(row.id) ?? [] }),
    ...(messages && { messages: messages.get(row.id) ?? [] }),
  }))
}

function presentRow(row: Row, auditId: string): AuditRequestItem {
  return {
    id: row.id,
    code: row.code,
    title: row.title,
    description: row.description,
    status: row.status,
    auditId,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
