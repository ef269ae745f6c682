import { z } from 'zod'
import { operations } from '../operation.ts'
import {
  expandQuery,
  Id,
  listQuery,
  maxShortTextLength,
  page,
  SubmittedTimestamp,
  Timestamp,
  text,
  UserCompact,
} from './common.ts'
import { ConnectionCompact } from './users.ts'

/** The categories of events. */
export const EventCategory = z
  .enum([
    'AUTOPILOT',
    'AGENT',
    'POLICY',
    'PERSONNEL',
    'REPORT',
    'VENDOR',
    'ASSET',
    'COMPANY',
    'ASSESSMENT',
    'AUDIT',
    'MONITOR',
    'USER',
    'CONNECTION',
    'GRC',
    'MDM',
    'QUESTIONNAIRE',
    'DEVICE',
    'TRUST_PAGES',
    'TRUST_CENTER_PRIVATE_ACCESS',
    'RISK',
    'COMPANY_NOTIFICATION',
    'CUSTOM_FRAMEWORKS',
    'MULTIPLE_PRODUCT_SUPPORT',
    'PUBLIC_API_KEY',
    'SERVICE_PROVIDER',
    'TASK',
    'AUTOPILOT_RECIPE_SCHEDULE',
    'RESYNC',
    'EVIDENCE',
    'AUTOPILOT_RECIPE',
    'ACCESS_REVIEW',
    'DOCUMENT_SCANNED',
    'CLOUD_STORAGE',
    'VENDOR_PROFILE',
    'CODEBASE',
    'EXCEPTION_MANAGEMENT',
    'WORKFLOWS',
    'CUSTOM_CONNECTION',
    'TRUST_CENTER_REPORTS',
    'OUTBOUND_WEBHOOKS',
    'SAFEBASE_MIGRATION',
    'TRUST_ACCESS_REQUEST',
    'SAFEBASE_ONBOARDING',
  ])
  .meta({ id: 'EventCategoryEnum' })

const EventSource = z
  .enum(['APP', 'AUTOPILOT', 'PUBLIC_API', 'VENDOR_QUESTIONNAIRE', 'SCHEDULED', 'WORKFLOW', 'DRATA_POLICY'])
  .meta({ id: 'EventSourceEnum' })

/** The expansions of events. */
export const EventExpand = z
  .enum(['connection', 'issues', 'metadata', 'testId', 'testName', 'user'])
  .meta({ id: 'EventExpandEnum' })
export type EventExpand = z.infer<typeof EventExpand>

const CheckResultStatus = z
  .enum(['READY', 'PASSED', 'FAILED', 'ERROR', 'PREAUDIT'])
  .meta({ id: 'CheckResultStatusEnum' })

const JsonObject = z.record(z.string(), z.unknown())

/** What an event wrote, and how. */
export const EventMetadata = z.object({
  dto: JsonObject.nullish(),
  targetEntity: JsonObject.nullish().describe('The written object: its `kind` and its `id`.'),
  targetEntities: z.array(JsonObject.nullable()).optional().describe('All written objects, if there are several.'),
  fileKey: z.string().nullish(),
  sourceData: JsonObject.nullish(),
  taskType: z.number().nullish(),
  request: JsonObject.nullish(),
  response: JsonObject.nullish(),
})
export type EventMetadata = z.infer<typeof EventMetadata>

/** An event of the account. */
export const Event = z
  .object({
    id: z.string().describe('A UUID.'),
    type: z.string().describe('The type of the event, in upper-case letters, digits and underscores.'),
    category: EventCategory,
    source: EventSource.describe('`PUBLIC_API`: this API. `APP`: the operator. `SCHEDULED`: the schedule.'),
    description: z.string().describe('What happened, in a sentence.'),
    status: CheckResultStatus.nullable().describe('The result of a test; null for everything else.'),
    createdAt: Timestamp,
    userId: Id.nullable().describe('The user who did it, or null.'),
    connectionId: Id.nullable().describe('The connection of the event, which may be deleted.'),
    requestDescription: z.string().nullable().describe('The operation or command that did it.'),
    user: UserCompact.nullish().describe('On request (`expand[]`).'),
    connection: ConnectionCompact.nullish().describe('On request (`expand[]`); null if it is deleted.'),
    metadata: EventMetadata.optional().describe('On request (`expand[]`).'),
    testName: z.string().nullish().describe('On request (`expand[]`).'),
    testId: z.string().nullish().describe('On request (`expand[]`).'),
    issues: z.array(JsonObject).optional().describe('On request (`expand[]` with `issues` or `metadata`).'),
  })
  .meta({ id: 'EventResponsePublicV2Dto', description: 'An event of the account.' })
export type Event = z.infer<typeof Event>

const EventPage = page(Event).meta({ id: 'EventsResponsePublicV2Dto' })

const EventType = text(maxShortTextLength).regex(/^[A-Z0-9_]+$/, {
  error: 'must be a name of upper-case letters, digits and underscores',
})

const expand = expandQuery(EventExpand)

/** The operations on events. */
export const events = operations({
  listEvents: {
    method: 'GET',
    path: '/events',
    summary: 'List Events',
    description: 'The events of the account.',
    permission: 'event-tracking-get',
    query: z.object({
      ...listQuery,
      sort: z
        .enum(['createdAt'])
        .meta({ id: 'EventSortTypeLimitedEnum' })
        .optional()
        .describe('The order of the list. `createdAt` is the only one, since events never change.'),
      ...expand,
      type: EventType.optional().describe('Only events of this type.'),
      source: EventSource.optional().describe('Only events from this source.'),
      category: EventCategory.optional().describe('Only events of this category.'),
      connectionId: Id.nullable()
        .optional()
        .describe('Only events of this connection; blank or `null` for those without one.'),
      userId: Id.nullable().optional().describe('Only events of this user; blank or `null` for those without one.'),
      workspaceId: Id.optional().describe('Only events of this workspace.'),
      createdAtStartDate: SubmittedTimestamp.optional().describe('Only events of this moment or later.'),
      createdAtEndDate: SubmittedTimestamp.optional().describe('Only events of this moment or earlier.'),
    }),
    success: { 200: EventPage },
    errors: [400, 401, 403, 412, 500],
  },
  getEvent: {
    method: 'GET',
    path: '/events/:eventId',
    summary: 'Get Event',
    description: 'One event.',
    permission: 'event-tracking-get-event',
    params: z.object({ eventId: z.uuid({ error: 'must be a UUID' }) }),
    query: z.object(expand),
    success: { 200: Event },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
