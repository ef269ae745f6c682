import { z } from 'zod'
import type { DeliveryAction } from '../failures.ts'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { After, Limit, page } from './lists.ts'
import { ChangeKind, Count, Instant } from './plan-shapes.ts'
import { Values } from './plans.ts'

const deliveryActions = [
  'problem',
  'split',
  'correct',
  'read_back',
  'upsert',
  'wait',
  'retry',
  'block',
] as const satisfies readonly DeliveryAction[]

/** A person whom the platform refused, or whose delivery has been failing for 15 minutes or is blocked. */
export const Problem = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    name: z.string().nullable().optional().describe('Only where values are asked for. Null: none is known.'),
    state: z
      .enum(['refused', 'undelivered'])
      .describe(
        '`refused`: the platform turned this person down. `undelivered`: the delivery has been failing for 15 minutes, or the connection is blocked.',
      ),
    runId: z.string().describe('The run that met it last.'),
    kind: ChangeKind,
    leaver: z.boolean().describe('The platform may still take this person for employed.'),
    status: z.number().int().nullable().describe('What the platform answered.'),
    code: z.string().nullable().describe('What `GET /failures` calls the answer.'),
    message: z.string(),
    firstAt: Instant.describe('Since when.'),
    ageSeconds: Count,
    lastAt: Instant.nullable().describe('When the platform answered about this person last; null: it has not.'),
    nextAt: Instant.nullable().describe('When it is tried again. Null: by the next run, and no schedule says when.'),
    times: Count.describe('How often it was tried in vain.'),
  })
  .meta({ id: 'Problem' })
export type Problem = z.infer<typeof Problem>

/** A reason why what HR states of a person, or in a row, cannot be sent. */
export const BlockedPerson = z
  .object({
    connection: z.string(),
    identityId: z.string().nullable().describe('Null: the key of the row cannot be read.'),
    name: z.string().nullable().optional().describe('Only where values are asked for. Null: none is known.'),
    leaver: z.boolean().describe('The person may have left, and the platform may still take them for employed.'),
    cellOnly: z
      .boolean()
      .describe('True: one field stays as it was, and the rest of the row applies. False: the whole row is rejected.'),
    contradicts: z
      .literal(true)
      .optional()
      .describe(
        'The whole row applies, but its status contradicts its leaving date: HR has to correct one of the two. Left out everywhere else.',
      ),
    column: z.string().nullable(),
    reason: z.string(),
    source: z.string().nullable().describe('The export that said so last.'),
    line: Count.nullable().describe('The line in it, or the first of its lines. Null where the row could be read.'),
    rows: Count.describe('How many of its rows have this fault.'),
    runId: z.string().describe('The run that met it last.'),
    accepted: z.boolean().describe('A plan with it was accepted; false: its plan is held.'),
    firstAt: Instant.describe('Since when.'),
    ageSeconds: Count,
    lastAt: Instant.describe('When it was read last.'),
  })
  .meta({ id: 'BlockedPerson' })
export type BlockedPerson = z.infer<typeof BlockedPerson>

/** A kind of failed delivery, its consequence and its remedy. */
export const FailureView = z
  .object({
    code: z.string(),
    when: z.string().describe('What the platform did.'),
    action: z.enum(deliveryActions),
    follows: z.string().describe('What comes of it.'),
    helps: z.string().nullable().describe('What an operator can do; null where there is nothing to do.'),
    uncertain: z.boolean().describe('The request may have been applied: Rollcall looks up what the platform holds.'),
  })
  .meta({ id: 'Failure' })
export type FailureView = z.infer<typeof FailureView>

const ofConnection = z.object({ connection: z.string() })
const Unblocked = z.object({
  wasBlocked: z.boolean(),
  due: z.number().int().min(0).describe('How many people wait to be delivered.'),
})

/** How people see what is not delivered and why, and try a blocked connection again. */
export const problemOperations = operations({
  listProblems: {
    method: 'GET',
    path: '/problems',
    permission: 'viewer',
    summary: 'The people who are refused or undelivered.',
    query: z.object({ connection: z.string().optional(), after: After, limit: Limit.default(500), values: Values }),
    success: { 200: page(Problem, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listBlockedPeople: {
    method: 'GET',
    path: '/blocked-people',
    permission: 'viewer',
    summary: 'The people who need attention, possible leavers first.',
    query: z.object({ connection: z.string().optional(), after: After, limit: Limit.default(500), values: Values }),
    success: { 200: page(BlockedPerson, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listFailures: {
    method: 'GET',
    path: '/failures',
    permission: 'viewer',
    summary: 'Each delivery failure, its consequence, and what helps.',
    success: { 200: z.object({ data: z.array(FailureView) }) },
    errors: [401, 500],
  },
  unblockConnection: {
    method: 'POST',
    path: '/connections/:connection/unblock',
    permission: 'operator',
    summary: 'Probe a blocked connection now.',
    params: ofConnection,
    body: z.strictObject({ by: By }),
    success: { 200: Unblocked },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
