import { z } from 'zod'

export const AuditRequestStatus = z
  .enum(['OUTSTANDING', 'IN_REVIEW', 'ACCEPTED', 'CHANGES_REQUESTED'])
  .meta({ id: 'CustomerRequestStatusEnum' })
export type AuditRequestStatus = z.infer<typeof AuditRequestStatus>
