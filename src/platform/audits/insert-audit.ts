import type { Kysely } from 'kysely'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type EventType, storeEvent, type Target, type Targets } from '../events/store-events.ts'
import type { NewAudit, NewAuditMessage, NewAuditRequest } from './audit-input.ts'
import { controlIdsByCode, ensureAuditors, userIdsByEmail } from './resolve-names.ts'

/** The workspace of an audit of a compliance framework (not the audit trail), and the command and time of the write. */
export type AuditWriteContext = {
  readonly accountId: number
  readonly workspaceId: number
  readonly command: string
  readonly now: Date
}

/** Stores an audit without its requests; returns null if the workspace has an audit of that framework and period. */
export async function insertAudit(
  trx: Kysely<PlatformSchema>,
  audit: NewAudit,
  writeContext: AuditWriteContext,
): Promise<{ id: number; uuid: string } | null> {
  const { accountId, workspaceId, now } = writeContext
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
  await recordAuditEvent(trx, writeContext, {
    type: 'AUDIT_CREATED',
    description: `Opened an audit of ${audit.framework}.`,
    target: { kind: 'audit', id: row.uuid },
  })
  return row
}

type RequestBatch = { readonly requests: readonly NewAuditRequest[]; readonly writeContext: AuditWriteContext }

/** Stores the requests whose codes are new in the audit, and returns them. */
export async function insertRequests(
  trx: Kysely<PlatformSchema>,
  auditId: number,
  { requests, writeContext }: RequestBatch,
): Promise<{ id: number }[]> {
  const inserted: { id: number }[] = []
  for (const request of requests) {
    const row = await insertRequest(trx, auditId, request, writeContext)
    if (row) inserted.push(row)
  }
  const [first] = inserted
  if (first) {
    const targets = { kind: 'auditRequest', ids: inserted.map(({ id }) => id) } as const
    const added = inserted.length === 1 ? 'a request' : `${inserted.length} requests`
    const description = `Added ${added} to an audit.`
    const target = { kind: 'auditRequest', id: first.id } as const
    // The contract has no event type for new requests.
    await recordAuditEvent(trx, writeContext, { type: 'CUSTOMER_REQUEST_DETAILS_EDITED', description, target, targets })
  }
  return inserted
}

/** Stores messages about a request in their order. */
export async function insertMessages(
  trx: Kysely<PlatformSchema>,
  requestId: number,
  messages: readonly NewAuditMessage[],
  now: Date,
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

/** Records an event about an audit. */
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
  await insertMessages(trx, request_id, request.messages, now)
  return row
}
