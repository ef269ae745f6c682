import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { findAccount } from '../accounts/accounts.ts'
import type { NewAuditMessage, NewAuditRequest } from '../audits/audit-input.ts'
import { insertAudit, insertMessages, insertRequests, recordAuditEvent } from '../audits/insert-audit.ts'
import { changedAt } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type {
  AuditInput,
  AuditStatusChange,
  AuditWithStatus,
  auditOperations,
  RequestStatusChange,
  RequestWithStatus,
} from './audit-contract.ts'
import type { OperatorContext } from './context.ts'

type AuditKey = { readonly accountId: number; readonly auditId: number }
type WorkspaceColumns = { readonly account_id: number; readonly workspace_id: number }
type Db = Kysely<PlatformSchema>

/** The handlers of the operator's operations on audits. They fail with `not_found` for unknown names and ids, and with `conflict` if the new thing exists already. */
export const auditHandlers: Handlers<typeof auditOperations, OperatorContext> = {
  async createAudit(context, { body }) {
    return { status: 201, body: await inTransaction(context, (trx, now) => createAudit(trx, body, now)) }
  },
  async setAuditStatus(context, { params: { auditId }, body }) {
    return { status: 200, body: await inTransaction(context, (trx, now) => setAuditStatus(trx, auditId, body, now)) }
  },
  async createAuditRequest(context, { params: { auditId }, body }) {
    return { status: 201, body: await inTransaction(context, (trx, now) => createRequest(trx, auditId, body, now)) }
  },
  async setAuditRequestStatus(context, { params: { requestId }, body }) {
    return {
      status: 200,
      body: await inTransaction(context, (trx, now) => setRequestStatus(trx, requestId, body, now)),
    }
  },
  async addAuditRequestMessage(context, { params: { requestId }, body }) {
    return { status: 201, body: await inTransaction(context, (trx, now) => addMessage(trx, requestId, body, now)) }
  },
}

async function inTransaction<T>({ db, now }: OperatorContext, work: (trx: Db, now: Date) => Promise<T>): Promise<T> {
  return await db.transaction().execute((trx) => work(trx, now()))
}

async function createAudit(trx: Db, { account, workspace, audit }: AuditInput, now: Date): Promise<AuditWithStatus> {
  const { id: accountId } = await findAccount(trx, account)
  const workspaceRow = await trx
    .selectFrom('workspaces')
    .select('id')
    .where('account_id', '=', accountId)
    .where('name', '=', workspace)
    .forKeyShare()
    .executeTakeFirst()
  if (!workspaceRow) throw new Failure('not_found', `the account "${account}" has no workspace "${workspace}"`)
  const writeContext = { accountId, workspaceId: workspaceRow.id, command: 'platform audits create', now }
  const row = await insertAudit(trx, audit, writeContext)
  if (!row) {
    const period = `${audit.startDate} to ${audit.endDate}`
    throw new Failure('conflict', `"${workspace}" has an audit of ${audit.framework} from ${period} already`)
  }
  for (const { messages } of audit.requests) await requireAuthors(trx, { accountId, auditId: row.id }, messages)
  await insertRequests(trx, row.id, { requests: audit.requests, writeContext })
  return { id: row.uuid, status: audit.status }
}

async function setAuditStatus(trx: Db, uuid: string, { status, completedAt }: AuditStatusChange, now: Date) {
  const audit = await lockAudit(trx, uuid)
  const completed = status === 'COMPLETED' ? (completedAt ? new Date(completedAt) : (audit.completed_at ?? now)) : null
  if (audit.status === status && audit.completed_at?.getTime() === completed?.getTime())
    return { id: audit.uuid, status }
  await trx
    .updateTable('audits')
    .set({ status, completed_at: completed, ...changedAt(now) })
    .where('id', '=', audit.id)
    .execute()
  await recordAuditEvent(trx, writeContextOf(audit, 'platform audits set-status', now), {
    type: 'AUDIT_STATUS_CHANGED',
    description: `Moved an audit of ${audit.framework_type} from ${audit.status} to ${status}.`,
    target: { kind: 'audit', id: audit.uuid },
  })
  return { id: audit.uuid, status }
}

async function createRequest(trx: Db, uuid: string, request: NewAuditRequest, now: Date): Promise<RequestWithStatus> {
  const audit = await lockAudit(trx, uuid)
  await requireAuthors(trx, { accountId: audit.account_id, auditId: audit.id }, request.messages)
  const writeContext = writeContextOf(audit, 'platform requests create', now)
  const [row] = await insertRequests(trx, audit.id, { requests: [request], writeContext })
  if (!row) throw new Failure('conflict', `the audit ${uuid} has a request ${request.code} already`)
  return { id: row.id, status: request.status }
}

async function setRequestStatus(
  trx: Db,
  id: number,
  { status }: RequestStatusChange,
  now: Date,
): Promise<RequestWithStatus> {
  const request = await lockRequest(trx, id)
  if (request.status === status) return { id, status }
  await trx
    .updateTable('audit_requests')
    .set({ status, ...changedAt(now) })
    .where('id', '=', id)
    .execute()
  await recordAuditEvent(trx, writeContextOf(request, 'platform requests set-status', now), {
    type: 'REQUEST_STATUS_CHANGED',
    description: `Moved the request ${request.code} from ${request.status} to ${status}.`,
    target: { kind: 'auditRequest', id },
  })
  return { id, status }
}

async function addMessage(trx: Db, id: number, message: NewAuditMessage, now: Date): Promise<{ id: number }> {
  const request = await lockRequest(trx, id)
  await requireAuthors(trx, { accountId: request.account_id, auditId: request.audit_id }, [message])
  const [row] = await insertMessages(trx, id, [message], now)
  if (!row) throw new Error(`the message about request ${id} was not stored`)
  await trx.updateTable('audit_requests').set(changedAt(now)).where('id', '=', id).execute()
  await recordAuditEvent(trx, writeContextOf(request, 'platform requests message', now), {
    type: 'REQUEST_MESSAGE_SENT',
    description: `Added a message to the request ${request.code}.`,
    target: { kind: 'auditRequest', id },
  })
  return row
}

async function lockAudit(trx: Db, uuid: string) {
  const audit = await trx
    .selectFrom('audits')
    .innerJoin('workspaces', 'workspaces.id', 'audits.workspace_id')
    .selectAll('audits')
    .select('workspaces.account_id')
    .where('audits.uuid', '=', uuid)
    .forUpdate('audits')
    .executeTakeFirst()
  if (audit) return audit
  throw new Failure('not_found', `there is no audit ${uuid}`)
}

async function lockRequest(trx: Db, id: number) {
  const request = await trx
    .selectFrom('audit_requests')
    .innerJoin('audits', 'audits.id', 'audit_requests.audit_id')
    .innerJoin('workspaces', 'workspaces.id', 'audits.workspace_id')
    .selectAll('audit_requests')
    .select(['audits.workspace_id', 'workspaces.account_id'])
    .where('audit_requests.id', '=', id)
    .forUpdate('audit_requests')
    .executeTakeFirst()
  if (request) return request
  throw new Failure('not_found', `there is no audit request ${id}`)
}

/** Fails with `not_found` if a message is from neither a user of the account nor an auditor of the audit. */
async function requireAuthors(
  trx: Db,
  { accountId, auditId }: AuditKey,
  messages: readonly NewAuditMessage[],
): Promise<void> {
  for (const { by } of messages) {
    if (by === null) continue
    const { rows } = await sql`
      select 1 from users where account_id = ${accountId} and fold_case(email) = fold_case(${by})
      union all
      select 1 from audit_auditors join auditors on auditors.id = auditor_id
      where audit_id = ${auditId} and fold_case(email) = fold_case(${by})
    `.execute(trx)
    if (rows.length === 0)
      throw new Failure('not_found', `${by} is neither a user of the account nor an auditor of the audit`)
  }
}

function writeContextOf({ account_id, workspace_id }: WorkspaceColumns, command: string, now: Date) {
  return { accountId: account_id, workspaceId: workspace_id, command, now }
}
