import { z } from 'zod'
import { AuditRequestStatus } from '../../contract/platform/audit-requests.ts'
import { AuditFramework, AuditStatus, AuditType } from '../../contract/platform/audits.ts'
import { Email, SubmittedTimestamp } from '../../contract/platform/common.ts'
import { addIssue, checkUnique, type DocumentCheck } from '../core/document-checks.ts'
import { Code, Day, LongText, Name } from '../core/input-texts.ts'

/** A new message about an audit request. */
export const NewAuditMessage = z.strictObject({
  message: LongText,
  by: Email.nullable().default(null).describe('Who sent it, a person of the account or an auditor; null: the system.'),
})
export type NewAuditMessage = z.infer<typeof NewAuditMessage>

/** A new audit request; its code is unique in the audit. */
export const NewAuditRequest = z
  .strictObject({
    code: Code,
    title: Name,
    description: LongText.nullable().default(null),
    status: AuditRequestStatus.default('OUTSTANDING'),
    owners: z.array(Email).default([]),
    controls: z.array(Code).default([]),
    messages: z.array(NewAuditMessage).default([]),
  })
  .check(checkRequest)
export type NewAuditRequest = z.infer<typeof NewAuditRequest>

/** A new audit; its framework and period are unique in the workspace. */
export const NewAudit = z
  .strictObject({
    framework: AuditFramework,
    auditType: AuditType.default('FULL_AUDIT'),
    isInternalAudit: z.boolean().default(false),
    status: AuditStatus.default('PREPARING'),
    startDate: Day,
    endDate: Day,
    completedAt: SubmittedTimestamp.nullable().default(null),
    auditors: z.array(z.strictObject({ name: Name, email: Email })).default([]),
    internalAuditors: z.array(Email).default([]),
    controls: z.array(Code).default([]),
    requests: z.array(NewAuditRequest).default([]),
  })
  .check(checkAudit)
export type NewAudit = z.infer<typeof NewAudit>

/** Adds issues for contradicting dates and repeated entries. */
function checkAudit(checking: DocumentCheck<NewAudit>): void {
  const { startDate, endDate, status, completedAt, auditors, internalAuditors, controls, requests } = checking.value
  if (endDate < startDate) addIssue(checking, ['endDate'], 'lies before startDate')
  if ((status === 'COMPLETED') !== (completedAt !== null)) {
    addIssue(checking, ['completedAt'], 'belongs to audits that are COMPLETED, and to each of them')
  }
  checkUnique(checking, {
    path: ['auditors'],
    noun: 'auditor',
    values: auditors.map(({ email }) => toLowerCase(email)),
  })
  checkUnique(checking, { path: ['internalAuditors'], noun: 'person', values: internalAuditors.map(toLowerCase) })
  checkUnique(checking, { path: ['controls'], noun: 'control', values: controls })
  checkUnique(checking, { path: ['requests'], noun: 'request', values: requests.map(({ code }) => code) })
}

/** Adds issues for repeated owners and controls. */
function checkRequest(checking: DocumentCheck<NewAuditRequest>): void {
  const { owners, controls } = checking.value
  checkUnique(checking, { path: ['owners'], noun: 'person', values: owners.map(toLowerCase) })
  checkUnique(checking, { path: ['controls'], noun: 'control', values: controls })
}

function toLowerCase(email: string): string {
  return email.toLowerCase()
}
