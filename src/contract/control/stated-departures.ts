import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'

const Day = z.string().describe('A day as YYYY-MM-DD, in the time zone of the source.')

/** A departure that an operator states before HR does. */
export const StatedDeparture = z
  .object({
    identityId: z.string(),
    leavingDate: Day.describe('The last day of employment.'),
    reason: z.string(),
    by: z.string(),
    at: z.iso.datetime(),
    applies: z.boolean().describe('False: it waits for a second person, or to be stated again.'),
    isEmergency: z.boolean().describe('It did not wait for the second person.'),
    approvedBy: z.string().nullable().describe('The second person; null if none has approved it.'),
    leavingDateOfHr: Day.nullable().describe(
      'A later leaving date that HR states; it applies when that date is reached.',
    ),
    isExpired: z.boolean().describe('It does not apply, and has to be stated again.'),
    isAccepted: z.boolean().describe('An accepted plan contains it. False: its day or its plan has not come yet.'),
    isInferredByHr: z.boolean().describe('HR says without a leaving date that the person has left.'),
    isLearned: z.boolean().describe('Only the platform had it after a restore: nobody knows who stated it.'),
    proposal: z
      .object({
        leavingDate: Day.nullable().describe('Another last day; null: the departure is withdrawn.'),
        by: z.string(),
        reason: z.string(),
        until: z.iso.datetime().describe('From then on it has to be proposed again.'),
      })
      .nullable()
      .describe('What one person proposes, until a second one does the same.'),
  })
  .meta({ id: 'StatedDeparture' })
export type StatedDeparture = z.infer<typeof StatedDeparture>

/** The result of stating or withdrawing a departure. */
export const StatementResult = z
  .object({
    identityId: z.string(),
    leavingDate: Day.nullable().describe('Null: no departure is stated any more.'),
    applies: z.boolean().describe('False: this day does not apply yet, or the departure was withdrawn.'),
    waits: z.boolean().describe('The request waits for a second person.'),
    runId: z.string().nullable().describe('The run of the roster that follows at once; null if nothing changes yet.'),
  })
  .meta({ id: 'StatementResult' })
export type StatementResult = z.infer<typeof StatementResult>

const ofPerson = z.object({ connection: z.string(), identityId: z.string() })
const Reason = z.string().min(1).max(500)
const errors = [400, 401, 403, 404, 409, 500, 503] as const

/** Operations with which an approver states a departure that HR has not recorded yet. */
export const statedDepartureOperations = operations({
  listStatedDepartures: {
    method: 'GET',
    path: '/connections/:connection/stated-departures',
    permission: 'viewer',
    summary: 'The departures stated by operators.',
    params: z.object({ connection: z.string() }),
    success: { 200: z.object({ data: z.array(StatedDeparture) }) },
    errors,
  },
  stateDeparture: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/departure',
    permission: 'approver',
    summary: 'State a departure before HR does, also as the second person.',
    params: ofPerson,
    body: z.strictObject({
      on: Day.optional().describe(
        'The last day of employment; default: today. Required if a day that another person stated waits for a second person.',
      ),
      approves: z
        .boolean()
        .optional()
        .describe('The caller is the second person: refused unless another person states this day.'),
      reason: Reason,
      emergency: z.boolean().optional().describe('Do not wait for a second person; every alert channel is notified.'),
      by: By,
    }),
    success: { 201: StatementResult },
    errors,
  },
  withdrawDeparture: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/departure/withdraw',
    permission: 'approver',
    summary: 'Withdraw a stated departure.',
    params: ofPerson,
    body: z.strictObject({
      on: Day.optional().describe('The day that the caller knows: refused if another one is stated.'),
      reason: Reason,
      by: By,
    }),
    success: { 200: StatementResult },
    errors,
  },
})
