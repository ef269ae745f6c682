import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'

const Instant = z.string().describe('An instant in ISO 8601, in UTC.')

/** A pause of a connection: who began it, why and until when. */
export const Pause = z
  .object({
    since: Instant,
    until: Instant.nullable().describe('When it is over by itself; null: when a person ends it.'),
    reason: z.string(),
    by: z.string().describe('Who paused the connection, or changed the pause last.'),
  })
  .meta({ id: 'Pause' })
export type Pause = z.infer<typeof Pause>

/** Whether a connection is paused now. */
export const PauseState = z
  .object({ connection: z.string(), paused: Pause.nullable().describe('Null: the connection is not paused.') })
  .meta({ id: 'PauseState' })
export type PauseState = z.infer<typeof PauseState>

const ofConnection = z.object({ connection: z.string() })

/** How an operator keeps a connection from taking in anything new by itself. */
export const pauseOperations = operations({
  getPause: {
    method: 'GET',
    path: '/connections/:connection/pause',
    permission: 'viewer',
    summary: 'The pause of a connection.',
    params: ofConnection,
    success: { 200: PauseState },
    errors: [400, 401, 403, 404, 500, 503],
  },
  pauseConnection: {
    method: 'POST',
    path: '/connections/:connection/pause',
    permission: 'operator',
    summary:
      'Pause a connection: no schedule, watched folder or event starts a run. Runs that people request still start.',
    params: ofConnection,
    body: z.strictObject({
      until: z
        .string()
        .max(40)
        .optional()
        .describe(
          'A day, a local time such as 2026-12-31T06:00 in the time zone of the schedule, or an instant. Left out: until a person ends it.',
        ),
      reason: z.string().trim().min(1).max(500).describe('The reason, recorded in the audit trail.'),
      by: By,
    }),
    success: { 200: PauseState },
    errors: [400, 401, 403, 404, 500, 503],
  },
  resumeConnection: {
    method: 'POST',
    path: '/connections/:connection/pause/end',
    permission: 'operator',
    summary: 'End the pause of a connection. A missed run starts at once.',
    params: ofConnection,
    body: z.strictObject({ by: By }),
    success: { 200: PauseState },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
})
