import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { AuditRequest, AuditRequestStatus, auditRequests } from '../../contract/platform/audit-requests.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { listById, presentRows } from '../core/present-rows.ts'
import { presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { findAudit } from './audits.ts'
import { controlsOfRequests, messagesOf, ownersOf } from './expansions.ts'

type Row = Selectable<PlatformSchema['audit_requests']>

/** The handlers of the operations on audit requests. */
export const auditRequestHandlers: Handlers<typeof auditRequests, PlatformContext> = {
  async listAuditRequests(ctx, { params, query }) {
    const audit = await findAudit(ctx, params)
    const { 'status[]': statuses, 'userIds[]': userIds } = query
    return replyWithPage(ctx, {
      table: 'audit_requests',
      where: sql`audit_id = ${audit.id} ${inStatus(statuses)} ${ownedBy(userIds)}`,
      filter: { auditId: audit.id, statuses: distinct(statuses), userIds: distinct(userIds) },
      query,
      present: (rows) => present(ctx, rows, audit.uuid, query['expand[]']),
    })
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
    const [request = presentRow(row, audit.uuid)] = await present(ctx, [row], audit.uuid, query['expand[]'])
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

function present(
  ctx: PlatformContext,
  rows: readonly Row[],
  auditId: string,
  expand?: readonly string[],
): Promise<AuditRequest[]> {
  const ids = rows.map(({ id }) => id)
  const loaders = {
    owners: async () => listById(await ownersOf(ctx, ids)),
    messages: async () => listById(await messagesOf(ctx.db, ids)),
    controls: async () => listById(await controlsOfRequests(ctx.db, ids)),
  }
  return presentRows(rows, { present: (row) => presentRow(row, auditId), expand, loaders })
}

function presentRow(row: Row, auditId: string): AuditRequest {
  return {
    id: row.id,
    code: row.code,
    title: row.title,
    description: row.description,
    status: row.status,
    auditId,
    ...presentTimes(row),
  }
}
