import { z } from 'zod'
import { operations } from '../../contract/operation.ts'
import { AuditRequestStatus } from '../../contract/platform/audit-requests.ts'
import { AuditId, AuditStatus } from '../../contract/platform/audits.ts'
import { Id, SubmittedTimestamp } from '../../contract/platform/common.ts'
import { NewAudit, NewAuditMessage, NewAuditRequest } from '../audits/audit-input.ts'
import { addIssue, type DocumentCheck } from '../core/document-checks.ts'
import { Name } from '../core/input-texts.ts'

/** A new audit of a workspace. */
export const AuditInput = z.strictObject({
  account: Name,
  workspace: Name.describe('The name of the workspace that is audited.'),
  audit: NewAudit,
})
export type AuditInput = z.infer<typeof AuditInput>

/** The new status of an audit. */
export const AuditStatusChange = z
  .strictObject({
    status: AuditStatus,
    completedAt: SubmittedTimestamp.optional().describe(
      'Default: now, or the former time if the audit was completed before.',
    ),
  })
  .check(checkStatusChange)
export type AuditStatusChange = z.infer<typeof AuditStatusChange>

/** The new status of an audit request. */
export const RequestStatusChange = z.strictObject({ status: AuditRequestStatus })
export type RequestStatusChange = z.infer<typeof RequestStatusChange>

/** An audit with its status. */
export const AuditWithStatus = z.object({ id: AuditId, status: AuditStatus }).meta({ id: 'AuditStatus' })
export type AuditWithStatus = z.infer<typeof AuditWithStatus>

/** An audit request with its status. */
export const RequestWithStatus = z.object({ id: Id, status: AuditRequestStatus }).meta({ id: 'AuditRequestStatus' })
export type RequestWithStatus = z.infer<typeof RequestWithStatus>

const auditParams = z.object({ auditId: AuditId })
const requestParams = z.object({ requestId: Id })
const errors = [400, 401, 404, 500] as const

/** The operator's operations on audits; the public API only reads them. */
export const auditOperations = operations({
  createAudit: {
    method: 'POST',
    path: '/audits',
    summary: 'Open an audit, with its requests.',
    body: AuditInput,
    success: { 201: AuditWithStatus },
    errors: [400, 401, 404, 409, 500],
  },
  setAuditStatus: {
    method: 'PUT',
    path: '/audits/:auditId/status',
    summary: 'Move an audit to another status.',
    params: auditParams,
    body: AuditStatusChange,
    success: { 200: AuditWithStatus },
    errors,
  },
  createAuditRequest: {
    method: 'POST',
    path: '/audits/:auditId/requests',
    summary: 'Add a request to an audit.',
    params: auditParams,
    body: NewAuditRequest,
    success: { 201: RequestWithStatus },
    errors: [400, 401, 404, 409, 500],
  },
  setAuditRequestStatus: {
    method: 'PUT',
    path: '/audit-requests/:requestId/status',
    summary: 'Move a request to another status.',
    params: requestParams,
    body: RequestStatusChange,
    success: { 200: RequestWithStatus },
    errors,
  },
  addAuditRequestMessage: {
    method: 'POST',
    path: '/audit-requests/:requestId/messages',
    summary: 'Add a message to a request.',
    params: requestParams,
    body: NewAuditMessage,
    success: { 201: z.object({ id: Id }) },
    errors,
  },
})

function checkStatusChange(checking: DocumentCheck<AuditStatusChange>): void {
  const { status, completedAt } = checking.value
  if (completedAt === undefined || status === 'COMPLETED') return
  addIssue(checking, ['completedAt'], 'belongs to the status COMPLETED')
}
