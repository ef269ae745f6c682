import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id, listQuery, page, Timestamp } from './common.ts'
import { resourceParams, SessionKey, SessionUpload, uploadResults } from './custom-data-records.ts'

const entitlement = 'CUSTOM_CONNECTIONS_AND_TESTS'

/** The statuses of a session. */
export const SessionStatus = z
  .enum(['IN_PROGRESS', 'ACTIVE', 'CANCELED', 'ARCHIVED'])
  .meta({ id: 'CustomDataSessionStatusEnum' })
export type SessionStatus = z.infer<typeof SessionStatus>

/** What can be done with a session in progress. */
export const SessionAction = z.enum(['complete', 'cancel']).meta({ id: 'SessionActionEnum' })
export type SessionAction = z.infer<typeof SessionAction>

const SessionActionRequest = z
  .object({
    action: SessionAction.describe(
      '`complete` makes the records of the session the live ones and deletes all others; `cancel` discards them.',
    ),
  })
  .meta({ id: 'SessionActionRequestPublicV2Dto' })

const SessionActionResult = z
  .object({
    sessionId: z.string(),
    status: SessionStatus,
    action: SessionAction,
    connectionId: Id,
    resourceId: Id,
  })
  .meta({ id: 'SessionActionResponsePublicV2Dto' })

/** A session of a resource. */
export const CustomDataSession = z
  .object({
    id: Id.describe('The id from the platform.'),
    sessionId: z.string().describe('The key from the caller.'),
    status: SessionStatus,
    createdAt: Timestamp,
    updatedAt: Timestamp.describe('When the status last changed.'),
    activatedAt: Timestamp.nullable(),
    canceledAt: Timestamp.nullable(),
  })
  .meta({ id: 'SessionResponsePublicV2Dto' })
export type CustomDataSession = z.infer<typeof CustomDataSession>

const CustomDataSessionPage = page(CustomDataSession).meta({ id: 'SessionsResponsePublicV2Dto' })

const resourcePath = z.object(resourceParams)
const sessionPath = z.object({ ...resourceParams, sessionId: SessionKey })

/** The operations on sessions: uploads that replace all records of a `CUSTOM` connection at once. */
export const customDataSessions = operations({
  listCustomDataSessions: {
    method: 'GET',
    path: '/custom-connections/:connectionId/resources/:resourceId/sessions',
    summary: 'List Custom Data Sessions',
    description: 'The sessions of a resource.',
    permission: 'custom-connections-get',
    entitlement,
    params: resourcePath,
    query: z.object({ ...listQuery, status: SessionStatus.optional() }),
    success: { 200: CustomDataSessionPage },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  uploadSessionRecords: {
    method: 'POST',
    path: '/custom-connections/:connectionId/resources/:resourceId/sessions/:sessionId',
    summary: 'Upsert Custom Data Records with Session Management',
    description:
      'Create or replace records that become live together once the session is completed. The first upload under a new key begins the session. A resource has one session in progress at most.',
    permission: 'custom-connections-data-post',
    entitlement,
    params: sessionPath,
    body: SessionUpload,
    success: uploadResults,
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  performSessionAction: {
    method: 'POST',
    path: '/custom-connections/:connectionId/resources/:resourceId/sessions/:sessionId/actions',
    summary: 'Perform Session Action',
    description: 'Complete or cancel a session.',
    permission: 'custom-connections-data-post',
    entitlement,
    params: sessionPath,
    body: SessionActionRequest,
    success: {
      200: SessionActionResult,
      201: z.record(z.string(), z.unknown()).describe('Listed by the contract; this server answers 200.'),
    },
    errors: [400, 401, 402, 403, 404, 412, 422, 500],
  },
})
