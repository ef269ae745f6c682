import { z } from 'zod'
import { operations } from '../operation.ts'
import { AuditControl, AuditId } from './audits.ts'
import { expandQuery, Id, ResponseEmail, Timestamp, UserCompact, uncountedListQuery, uncountedPage } from './common.ts'

/** The statuses of an audit request. */
export const AuditRequestStatus = z
  .enum(['OUTSTANDING', 'IN_REVIEW', 'ACCEPTED', 'CHANGES_REQUESTED'])
  .meta({ id: 'CustomerRequestStatusEnum' })
export type AuditRequestStatus = z.infer<typeof AuditRequestStatus>

const AuditRequestListExpand = z.enum(['owners', 'messages']).meta({ id: 'AuditRequestListExpandEnum' })
const AuditRequestExpand = z.enum(['owners', 'messages', 'controls']).meta({ id: 'AuditRequestExpandEnum' })

/** A message about an audit request. */
export const AuditRequestMessage = z
  .object({
    id: Id,
    message: z.string(),
    sentByEmail: ResponseEmail.nullable().describe('Null: from the system.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'AuditRequestMessageCompactResponsePublicV2Dto', description: 'A message about a request.' })
export type AuditRequestMessage = z.infer<typeof AuditRequestMessage>

const requestFields = {
  id: Id,
  code: z.string().describe('Its short name in the audit.'),
  title: z.string(),
  description: z.string().nullable(),
  status: AuditRequestStatus,
  auditId: z.guid(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  owners: z.array(UserCompact).optional().describe('On request (`expand[]`).'),
  messages: z.array(AuditRequestMessage).optional().describe('Oldest first, on request (`expand[]`).'),
}

const AuditRequestItem = z
  .object(requestFields)
  .meta({ id: 'AuditRequestItemResponsePublicV2Dto', description: 'An audit request in a list.' })

/** An audit request. */
export const AuditRequest = z
  .object({
    ...requestFields,
    controls: z.array(AuditControl).optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'AuditRequestGetResponsePublicV2Dto', description: 'An audit request.' })
export type AuditRequest = z.infer<typeof AuditRequest>

const AuditRequestPage = uncountedPage(AuditRequestItem).meta({ id: 'AuditRequestsResponsePublicV2Dto' })

/** The operations on audit requests. */
export const auditRequests = operations({
  listAuditRequests: {
    method: 'GET',
    path: '/workspaces/:workspaceId/audits/:auditId/requests',
    summary: 'List Audit Requests',
    description:
      'The requests of an audit. Several values of one filter are alternatives; the two filters together narrow the list.',
    permission: 'customer-request-get-requests',
    params: z.object({ workspaceId: Id, auditId: AuditId }),
    query: z.object({
      ...uncountedListQuery,
      'status[]': z.array(AuditRequestStatus).optional().describe('Only requests in one of these statuses.'),
      'userIds[]': z.array(Id).optional().describe('Only requests that one of these users owns.'),
      ...expandQuery(AuditRequestListExpand),
    }),
    success: { 200: AuditRequestPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  getAuditRequest: {
    method: 'GET',
    path: '/workspaces/:workspaceId/audits/:auditId/requests/:requestId',
    summary: 'Get Audit Request',
    description: 'One request of an audit.',
    permission: 'customer-request-get-requests',
    params: z.object({ workspaceId: Id, auditId: AuditId, requestId: Id }),
    query: z.object(expandQuery(AuditRequestExpand)),
    success: { 200: AuditRequest },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
