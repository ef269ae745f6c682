import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { After, Limit, page } from './lists.ts'
import { Instant } from './plan-shapes.ts'

const ofConnection = z.object({ connection: z.string() })

/** The states of a webhook event. */
export const EventState = z.enum(['pending', 'held', 'settled', 'rejected', 'dismissed', 'test'])
export type EventState = z.infer<typeof EventState>

/** A webhook event as it was received, and its state. */
export const InboxEvent = z
  .object({
    id: z.string(),
    connection: z.string(),
    eventId: z.string().nullable().describe('The id that the sender gave it.'),
    state: EventState,
    receivedAt: Instant,
    runId: z.string().nullable().describe('The run that read it last, or whose decision it waits for.'),
    reason: z.string().nullable().describe('Why it is held, was rejected, or had no effect.'),
  })
  .meta({ id: 'InboxEvent' })
export type InboxEvent = z.infer<typeof InboxEvent>

const EventIds = z
  .array(z.string().regex(/^\d{1,18}$/))
  .min(1)
  .max(1000)
const Affected = z.object({ events: z.number().int().min(0) })

/** How people list webhook events, and retry or dismiss the rejected ones. */
export const eventOperations = operations({
  listEvents: {
    method: 'GET',
    path: '/connections/:connection/events',
    permission: 'viewer',
    summary: 'The webhook events of a connection, by default the oldest first.',
    params: ofConnection,
    query: z.object({
      state: EventState.optional(),
      order: z.enum(['oldest', 'newest']).default('oldest').describe('Which events come first.'),
      after: After,
      limit: Limit.default(500),
    }),
    success: { 200: page(InboxEvent, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  retryEvents: {
    method: 'POST',
    path: '/connections/:connection/events/retry',
    permission: 'operator',
    summary: 'Read rejected events again, all or some.',
    params: ofConnection,
    body: z.strictObject({ ids: EventIds.optional(), by: By }),
    success: { 200: Affected },
    errors: [400, 401, 403, 404, 500, 503],
  },
  dismissEvents: {
    method: 'POST',
    path: '/connections/:connection/events/dismissal',
    permission: 'approver',
    summary: 'Dismiss rejected events.',
    params: ofConnection,
    body: z.strictObject({ ids: EventIds, by: By }),
    success: { 200: Affected },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
