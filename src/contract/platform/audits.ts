import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, Id, ResponseEmail, Timestamp, UserCompact, uncountedListQuery, uncountedPage } from './common.ts'

/** The frameworks that can be audited. */
export const AuditFramework = z
  .enum([
    'SOC_2_TYPE_1',
    'SOC_2_TYPE_2',
    'ISO_27001',
    'HIPAA',
    'PCI',
    'GDPR',
    'SCF',
    'NIST80053',
    'NISTCSF',
    'CMMC',
    'NIST800171',
    'MSSSPA',
    'FFIEC',
    'CCPA',
    'ISO_27701',
    'COBIT',
    'SOX_ITGC',
    'ISO_27001_2022',
    'CCM',
    'CYBER_ESSENTIALS',
    'ISO_27017_2015',
    'ISO_27018_2019',
    'NISTAI',
    'PCI4',
    'FEDRAMP',
    'NISTCSF2',
    'NIS2',
    'DORA',
    'ISO_42001_2023',
    'DRATA_ESSENTIALS',
    'NIST800171R3',
    'CIS8',
    'CYBER_ESSENTIALS_32',
    'FEDRAMP20X',
    'HITRUST',
    'MSSSPA11',
    'ESSENTIAL_EIGHT',
    'NYDFS',
    'TISAX',
    'ISO_27018_2025',
    'CCPA2026',
    'ISO_27701_2025',
    'CPS230',
    'CYFUN',
    'AIUC_1',
    'CUSTOM',
  ])
  .meta({ id: 'AuditorFrameworkTypeEnum' })
export type AuditFramework = z.infer<typeof AuditFramework>

/** The kinds of audits. */
export const AuditType = z.enum(['FULL_AUDIT', 'DOWNLOAD_ONLY_AUDIT']).meta({ id: 'AuditTypeEnum' })
export type AuditType = z.infer<typeof AuditType>

/** The statuses of an audit. */
export const AuditStatus = z
  .enum(['PREPARING', 'ACTIVE', 'COMPLETED'])
  .meta({ id: 'AuditorFrameworkOverhaulStatusEnum' })
export type AuditStatus = z.infer<typeof AuditStatus>

const AuditListExpand = z.enum(['auditors', 'internalAuditors']).meta({ id: 'AuditListExpandEnum' })
const AuditExpand = z.enum(['auditors', 'internalAuditors', 'controls']).meta({ id: 'AuditExpandEnum' })

/** The id of an audit in a path. */
export const AuditId = z.guid({ error: 'must be a UUID' })

/** An external auditor. */
export const Auditor = z
  .object({ id: z.guid(), name: z.string(), email: ResponseEmail })
  .meta({ id: 'AuditorCompactResponsePublicV2Dto', description: 'An external auditor.' })
export type Auditor = z.infer<typeof Auditor>

/** A control in an audit. */
export const AuditControl = z
  .object({
    id: Id,
    code: z.string(),
    name: z.string(),
    controlNumber: z.int().nullable().describe('The number of its template; null without a template.'),
  })
  .meta({ id: 'AuditControlCompactResponsePublicV2Dto', description: 'An audited control.' })
export type AuditControl = z.infer<typeof AuditControl>

const auditFields = {
  id: z.guid(),
  frameworkType: AuditFramework,
  auditType: AuditType,
  isInternalAudit: z.boolean(),
  status: AuditStatus,
  startDate: z.iso.date().describe('The first day of the audited period.'),
  endDate: z.iso.date().describe('Its last day.'),
  completedAt: Timestamp.nullable().describe('Null until the audit is completed.'),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  auditors: z.array(Auditor).optional().describe('The external auditors, on request (`expand[]`).'),
  internalAuditors: z.array(UserCompact).optional().describe('The internal auditors, on request (`expand[]`).'),
}

const AuditItem = z
  .object(auditFields)
  .meta({ id: 'AuditItemResponsePublicV2Dto', description: 'An audit of a workspace in a list.' })

/** An audit of a workspace. */
export const Audit = z
  .object({
    ...auditFields,
    controls: z.array(AuditControl).optional().describe('The audited controls, on request (`expand[]`).'),
  })
  .meta({ id: 'AuditGetResponsePublicV2Dto', description: 'An audit of a workspace.' })
export type Audit = z.infer<typeof Audit>

const AuditPage = uncountedPage(AuditItem).meta({ id: 'AuditsResponsePublicV2Dto' })

/** The operations on audits, which the operator of the platform creates. */
export const audits = operations({
  listAudits: {
    method: 'GET',
    path: '/workspaces/:workspaceId/audits',
    summary: 'List Audits',
    description: 'The audits of a workspace.',
    permission: 'audit-get',
    params: z.object({ workspaceId: Id }),
    query: z.object({ ...uncountedListQuery, ...expandQuery(AuditListExpand) }),
    success: { 200: AuditPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  getAudit: {
    method: 'GET',
    path: '/workspaces/:workspaceId/audits/:auditId',
    summary: 'Get Audit',
    description: 'One audit of a workspace.',
    permission: 'audit-get',
    params: z.object({ workspaceId: Id, auditId: AuditId }),
    query: z.object(expandQuery(AuditExpand)),
    success: { 200: Audit },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
