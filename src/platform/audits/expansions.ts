import type { Kysely } from 'kysely'
import type { AuditRequestMessage } from '../../contract/platform/audit-requests.ts'
import type { AuditControl, Auditor } from '../../contract/platform/audits.ts'
import type { UserCompact } from '../../contract/platform/common.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, groupRows, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

type RowsBySubject<T> = ReadonlyMap<number, T[]>
/** A row with the audit or request that it belongs to. */
type OfSubject = { readonly subjectId: number }

const subjectOf = ({ subjectId }: OfSubject) => subjectId

/** The external auditors by audit, ordered by e-mail address. */
export async function auditorsOf(
  db: Kysely<PlatformSchema>,
  auditIds: readonly number[],
): Promise<RowsBySubject<Auditor>> {
  const rows = await db
    .selectFrom('audit_auditors')
    .innerJoin('auditors', 'auditors.id', 'audit_auditors.auditor_id')
    .select(['audit_auditors.audit_id as subjectId', 'auditors.uuid', 'auditors.name', 'auditors.email'])
    .where('audit_auditors.audit_id', '=', anyOf(auditIds))
    .orderBy('auditors.email')
    .execute()
  return groupRows(rows, subjectOf, ({ uuid, name, email }) => ({ id: uuid, name, email }))
}

/** The internal auditors by audit. */
export async function internalAuditorsOf(
  ctx: PlatformContext,
  auditIds: readonly number[],
): Promise<RowsBySubject<UserCompact>> {
  const links = await ctx.db
    .selectFrom('audit_internal_auditors')
    .select(['audit_id as subjectId', 'user_id'])
    .where('audit_id', '=', anyOf(auditIds))
    .orderBy('user_id')
    .execute()
  return usersOfLinks(ctx, links)
}

/** The audited controls by audit. */
export async function controlsOfAudits(
  db: Kysely<PlatformSchema>,
  auditIds: readonly number[],
): Promise<RowsBySubject<AuditControl>> {
  const rows = await controlsWithNumbers(db)
    .innerJoin('audit_controls', 'audit_controls.control_id', 'controls.id')
    .select('audit_controls.audit_id as subjectId')
    .where('audit_controls.audit_id', '=', anyOf(auditIds))
    .execute()
  return groupRows(rows, subjectOf, presentControl)
}

/** The owners by request. */
export async function ownersOf(
  ctx: PlatformContext,
  requestIds: readonly number[],
): Promise<RowsBySubject<UserCompact>> {
  const links = await ctx.db
    .selectFrom('audit_request_owners')
    .select(['request_id as subjectId', 'user_id'])
    .where('request_id', '=', anyOf(requestIds))
    .orderBy('user_id')
    .execute()
  return usersOfLinks(ctx, links)
}

/** The messages by request, oldest first. */
export async function messagesOf(
  db: Kysely<PlatformSchema>,
  requestIds: readonly number[],
): Promise<RowsBySubject<AuditRequestMessage>> {
  const rows = await db
    .selectFrom('audit_request_messages')
    .selectAll()
    .select('request_id as subjectId')
    .where('request_id', '=', anyOf(requestIds))
    .orderBy('id')
    .execute()
  return groupRows(rows, subjectOf, (row) => ({
    id: row.id,
    message: row.message,
    sentByEmail: row.sent_by_email,
    ...presentTimes(row),
  }))
}

/** The controls by request. */
export async function controlsOfRequests(
  db: Kysely<PlatformSchema>,
  requestIds: readonly number[],
): Promise<RowsBySubject<AuditControl>> {
  const rows = await controlsWithNumbers(db)
    .innerJoin('audit_request_controls', 'audit_request_controls.control_id', 'controls.id')
    .select('audit_request_controls.request_id as subjectId')
    .where('audit_request_controls.request_id', '=', anyOf(requestIds))
    .execute()
  return groupRows(rows, subjectOf, presentControl)
}

async function usersOfLinks(
  ctx: PlatformContext,
  links: readonly (OfSubject & { readonly user_id: number })[],
): Promise<RowsBySubject<UserCompact>> {
  const users = await compactUsers(
    ctx.db,
    ctx.accountId,
    links.map((link) => link.user_id),
  )
  const linkedUsers = links.flatMap(({ subjectId, user_id }) => {
    const user = users.get(user_id)
    return user ? [{ subjectId, user }] : []
  })
  return groupRows(linkedUsers, subjectOf, ({ user }) => user)
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
