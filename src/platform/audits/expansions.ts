import { type Kysely, sql } from 'kysely'
import type { AuditRequestMessage } from '../../contract/platform/audit-requests.ts'
import type { AuditControl, Auditor } from '../../contract/platform/audits.ts'
import type { UserCompact } from '../../contract/platform/common.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Grouped<T> = ReadonlyMap<number, T[]>

/** The auditors from outside by audit, in the order of their addresses. */
export async function auditorsOf(db: Kysely<PlatformSchema>, auditIds: readonly number[]): Promise<Grouped<Auditor>> {
  const rows = await db
    .selectFrom('audit_auditors')
    .innerJoin('auditors', 'auditors.id', 'audit_auditors.auditor_id')
    .select(['audit_auditors.audit_id as at', 'auditors.uuid', 'auditors.name', 'auditors.email'])
    .where('audit_auditors.audit_id', '=', anyOf(auditIds))
    .orderBy('auditors.email')
    .execute()
  return grouped(rows, ({ uuid, name, email }) => ({ id: uuid, name, email }))
}

/** The auditors from inside by audit. */
export async function internalAuditorsOf(
  ctx: PlatformContext,
  auditIds: readonly number[],
): Promise<Grouped<UserCompact>> {
  const links = await ctx.db
    .selectFrom('audit_internal_auditors')
    .select(['audit_id as at', 'user_id'])
    .where('audit_id', '=', anyOf(auditIds))
    .orderBy('user_id')
    .execute()
  return usersBehind(ctx, links)
}

/** The audited controls by audit. */
export async function controlsOfAudits(
  db: Kysely<PlatformSchema>,
  auditIds: readonly number[],
): Promise<Grouped<AuditControl>> {
  const rows = await controlsWithNumbers(db)
    .innerJoin('audit_controls', 'audit_controls.control_id', 'controls.id')
    .select('audit_controls.audit_id as at')
    .where('audit_controls.audit_id', '=', anyOf(auditIds))
    .execute()
  return grouped(rows, presentControl)
}

/** Who is to answer, by request. */
export async function ownersOf(ctx: PlatformContext, requestIds: readonly number[]): Promise<Grouped<UserCompact>> {
  const links = await ctx.db
    .selectFrom('audit_request_owners')
    .select(['request_id as at', 'user_id'])
    .where('request_id', '=', anyOf(requestIds))
    .orderBy('user_id')
    .execute()
  return usersBehind(ctx, links)
}

/** What was said by request, oldest first. */
export async function messagesOf(
  db: Kysely<PlatformSchema>,
  requestIds: readonly number[],
): Promise<Grouped<AuditRequestMessage>> {
  const rows = await db
    .selectFrom('audit_request_messages')
    .selectAll()
    .select('request_id as at')
    .where('request_id', '=', anyOf(requestIds))
    .orderBy('id')
    .execute()
  return grouped(rows, (row) => ({
    id: row.id,
    message: row.message,
    sentByEmail: row.sent_by_email,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }))
}

/** What a request is about, by request. */
export async function controlsOfRequests(
  db: Kysely<PlatformSchema>,
  requestIds: readonly number[],
): Promise<Grouped<AuditControl>> {
  const rows = await controlsWithNumbers(db)
    .innerJoin('audit_request_controls', 'audit_request_controls.control_id', 'controls.id')
    .select('audit_request_controls.request_id as at')
    .where('audit_request_controls.request_id', '=', anyOf(requestIds))
    .execute()
  return grouped(rows, presentControl)
}

function anyOf(ids: readonly number[]) {
  return sql<number>`any(${ids}::bigint[])`
}

function grouped<R extends { readonly at: number }, T>(rows: readonly R[], present: (row: R) => T): Grouped<T> {
  const groups = Map.groupBy(rows, ({ at }) => at)
  return new Map([...groups].map(([at, group]) => [at, group.map(present)]))
}

async function usersBehind(
  ctx: PlatformContext,
  links: readonly { readonly at: number; readonly user_id: number }[],
): Promise<Grouped<UserCompact>> {
  const users = await compactUsers(
    ctx.db,
    ctx.accountId,
    links.map((link) => link.user_id),
  )
  const linkedUsers = links.flatMap(({ at, user_id }) => {
    const user = users.get(user_id)
    return user ? [{ at, user }] : []
  })
  return grouped(linkedUsers, ({ user }) => user)
}

function controlsWithNumbers(db: Kysely<PlatformSchema>) {
  return db
    .selectFrom('controls')
    .leftJoin('control_templates', 'control_templates.id', 'controls.template_id')
    .select(['controls.id', 'controls.code', 'controls.name', 'control_templates.control_number'])
    .orderBy('controls.id')
}

function presentControl(row: { id: number; code: string; name: string; control_number: number | null }): AuditControl {
  return { id: row.id, code: row.code, name: row.name, controlNumber: row.control_number }
}
