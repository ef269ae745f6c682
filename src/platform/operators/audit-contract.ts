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
export const AuditMove = z
  .strictObject({
    status: AuditStatus,
    completedAt: SubmittedTimestamp.optional().describe(
      'Default: now, or the former time if the audit was completed before.',
    ),
  })
  .check(checkMove)
export type AuditMove = z.infer<typeof AuditMove>

/** The new status of an audit request. */
export const RequestMove = z.strictObject({ status: AuditRequestStatus })
export type RequestMove = z.infer<typeof RequestMove>

/** An audit with its status. */
export const MovedAudit = z.object({ id: AuditId, status: AuditStatus }).meta({ id: 'AuditStatus' })
export type MovedAudit = z.infer<typeof MovedAudit>

/** An audit request with its status. */
export const MovedRequest = z.object({ id: Id, status: AuditRequestStatus }).meta({ id: 'AuditRequestStatus' })
export type MovedRequest = z.infer<typeof MovedRequest>

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
    success: { 201: MovedAudit },
    errors: [400, 401, 404, 409, 500],
  },
  setAuditStatus: {
    method: 'PUT',
    path: '/audits/:auditId/status',
    summary: 'Move an audit to another status.',
    params: auditParams,
    body: AuditMove,
    success: { 200: MovedAudit },
    errors,
  },
  createAuditRequest: {
    method: 'POST',
    path: '/audits/:auditId/requests',
    summary: 'Add a request to an audit.',
    params: auditParams,
    body: NewAuditRequest,
    success: { 201: MovedRequest },
    errors: [400, 401, 404, 409, 500],
  },
  setAuditRequestStatus: {
    method: 'PUT',
    path: '/audit-requests/:requestId/status',
    summary: 'Move a request to another status.',
    params: requestParams,
    body: RequestMove,
    success: { 200: MovedRequest },
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

function checkMove(checking: DocumentCheck<AuditMove>): void {
  const { status, completedAt } = checking.value
  if (completedAt === undefined || status === 'COMPLETED') return
  addIssue(checking, ['completedAt'], 'belongs to the status COMPLETED')
}
