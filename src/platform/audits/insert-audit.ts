import type { Kysely } from 'kysely'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type EventType, storeEvent, type Target, type Targets } from '../events/store-events.ts'
import type { NewAudit, NewAuditMessage, NewAuditRequest } from './audit-input.ts'
import { ensureAuditors, controlIdsByCode, userIdsByEmail } from './resolve-names.ts'

/** The place of an audit, and who writes it when. */
export type AuditWriteContext = {
  readonly accountId: number
  readonly workspaceId: number
  readonly command: string
  readonly now: Date
}

/** Opens the audit without its requests; null if the workspace has one of that framework and period already. */
export async function insertAudit(
  trx: Kysely<PlatformSchema>,
  audit: NewAudit,
  writing: AuditWriteContext,
): Promise<{ id: number; uuid: string } | null> {
  const { accountId, workspaceId, now } = writing
  const row = await trx
    .insertInto('audits')
    .values({
      workspace_id: workspaceId,
      framework_type: audit.framework,
      audit_type: audit.auditType,
      is_internal: audit.isInternalAudit,
      status: audit.status,
      start_date: audit.startDate,
      end_date: audit.endDate,
      completed_at: audit.completedAt,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'framework_type', 'start_date', 'end_date']).doNothing(),
    )
    .returning(['id', 'uuid'])
    .executeTakeFirst()
  if (!row) return null
  const audit_id = row.id
  const auditors = (await ensureAuditors(trx, accountId, audit.auditors)).map((auditor_id) => ({
    audit_id,
    auditor_id,
  }))
  const people = (await userIdsByEmail(trx, accountId, audit.internalAuditors)).map((user_id) => ({
    audit_id,
    user_id,
  }))
  const controls = (await controlIdsByCode(trx, workspaceId, audit.controls)).map((control_id) => ({
    audit_id,
    control_id,
  }))
  await addRows(trx, 'audit_auditors', auditors)
  await addRows(trx, 'audit_internal_auditors', people)
  await addRows(trx, 'audit_controls', controls)
  await recordAuditEvent(trx, writing, {
    type: 'AUDIT_CREATED',
    description: `Opened an audit of ${audit.framework}.`,
    target: { kind: 'audit', id: row.uuid },
  })
  return row
}

/** Adds the requests whose codes the audit has none of yet, and returns them. */
export async function insertRequests(
  trx: Kysely<PlatformSchema>,
  auditId: number,
  { requests, writing }: { readonly requests: readonly NewAuditRequest[]; readonly writing: AuditWriteContext },
): Promise<{ id: number }[]> {
  const inserted: { id: number }[] = []
  for (const request of requests) {
    const row = await insertRequest(trx, auditId, request, writing)
    if (row) inserted.push(row)
  }
  const [first] = inserted
  if (first) {
    const targets = { kind: 'auditRequest', ids: inserted.map(({ id }) => id) } as const
    const added = inserted.length === 1 ? 'a request' : `${inserted.length} requests`
    const description = `Added ${added} to an audit.`
    const target = { kind: 'auditRequest', id: first.id } as const
    // The contract has no type of its own for requests that are added.
    await recordAuditEvent(trx, writing, { type: 'CUSTOMER_REQUEST_DETAILS_EDITED', description, target, targets })
  }
  return inserted
}

/** Adds what was said about a request, in the order given. */
export async function insertMessages(
  trx: Kysely<PlatformSchema>,
  requestId: number,
  { messages, now }: { readonly messages: readonly NewAuditMessage[]; readonly now: Date },
): Promise<{ id: number }[]> {
  const rows = messages.map(({ message, by }) => ({
    request_id: requestId,
    message,
    sent_by_email: by,
    created_at: now,
    updated_at: now,
  }))
  return addRows(trx, 'audit_request_messages', rows)
}

/** Records what was written to an audit. */
export async function recordAuditEvent(
  trx: Kysely<PlatformSchema>,
  { accountId, workspaceId, command, now }: AuditWriteContext,
  event: {
    readonly type: EventType
    readonly description: string
    readonly target: Target
    readonly targets?: Targets
  },
): Promise<void> {
  const actor = { kind: 'operator', name: null, command } as const
  await storeEvent(trx, { accountId, actor, at: now }, { ...event, workspaceId })
}

async function insertRequest(
  trx: Kysely<PlatformSchema>,
  auditId: number,
  request: NewAuditRequest,
  { accountId, workspaceId, now }: AuditWriteContext,
): Promise<{ id: number } | null> {
  const row = await trx
    .insertInto('audit_requests')
    .values({
      audit_id: auditId,
      code: request.code,
      title: request.title,
      description: request.description,
      status: request.status,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['audit_id', 'code']).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!row) return null
  const request_id = row.id
  const owners = (await userIdsByEmail(trx, accountId, request.owners)).map((user_id) => ({ request_id, user_id }))
  const controls = (await controlIdsByCode(trx, workspaceId, request.controls)).map((control_id) => ({
    request_id,
    control_id,
  }))
  await addRows(trx, 'audit_request_owners', owners)
  await addRows(trx, 'audit_request_controls', controls)
  await insertMessages(trx, request_id, { messages: request.messages, now })
  return row
}
