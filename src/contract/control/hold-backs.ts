import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'

const Day = z.string().describe('A day as YYYY-MM-DD, in the time zone of the source.')

/** A departure that an operator holds back until a day. */
export const HoldBack = z
  .object({
    identityId: z.string(),
    until: Day.describe('From this day on what HR says counts again.'),
    reason: z.string(),
    by: z.string(),
    at: z.iso.datetime(),
    leaving: z
      .object({ separatedAt: z.string(), inferred: z.boolean() })
      .nullable()
      .describe('What is held back; null as long as HR says nothing of a leaving.'),
  })
  .meta({ id: 'HoldBack' })
export type HoldBack = z.infer<typeof HoldBack>

/** The result of holding a departure back. */
export const HeldBack = z
  .object({
    identityId: z.string(),
    until: Day.nullable().describe('Null: leavings are no longer held back.'),
    runId: z.string().nullable().describe('The run of the roster that follows at once; null if nothing changes yet.'),
  })
  .meta({ id: 'HeldBack' })
export type HeldBack = z.infer<typeof HeldBack>

const ofPerson = z.object({ connection: z.string(), identityId: z.string() })
const errors = [400, 401, 403, 404, 409, 500, 503] as const

/** How an operator keeps a person whom HR lists as left by mistake. */
export const holdBackOperations = operations({
  listHoldBacks: {
    method: 'GET',
    path: '/connections/:connection/hold-backs',
    permission: 'viewer',
    summary: 'The people whose departure is held back.',
    params: z.object({ connection: z.string() }),
    success: { 200: z.object({ data: z.array(HoldBack) }) },
    errors,
  },
  holdBack: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/hold-back',
    permission: 'operator',
    summary: 'Hold back the departure of a person until a day. A person who was separated comes back at once.',
    params: ofPerson,
    body: z.strictObject({ until: Day, reason: z.string().min(1).max(500), by: By }),
    success: { 201: HeldBack },
    errors,
  },
  endHoldBack: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/hold-back/end',
    permission: 'operator',
    summary: 'End a hold-back before its day.',
    params: ofPerson,
    body: z.strictObject({ by: By }),
    success: { 200: HeldBack },
    errors,
  },
})
