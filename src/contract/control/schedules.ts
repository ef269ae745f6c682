import { z } from 'zod'
import { operations } from '../operation.ts'
import { Pause } from './pauses.ts'

/** A schedule of a connection with its next times. */
export const ScheduleView = z
  .object({
    connection: z.string(),
    purpose: z
      .enum(['read', 'verify', 'sample'])
      .describe(
        'What happens: the source is read, everybody on the platform is verified, or leavers and a sample of the others are.',
      ),
    cron: z.string(),
    timeZone: z.string().describe('In which the cron line is read.'),
    jitterMinutes: z.int().min(0).describe('Maximum delay of each time after that of the cron line.'),
    blackouts: z.int().min(0).describe('How many windows are configured in which nothing begins.'),
    paused: Pause.nullable().describe('Null: the connection is not paused.'),
    next: z
      .array(z.string())
      .describe('When it begins next, instants in ISO 8601. Empty: while it is paused without an end.'),
  })
  .meta({ id: 'Schedule' })
export type ScheduleView = z.infer<typeof ScheduleView>

/** What happens by itself, and when. */
export const scheduleOperations = operations({
  listSchedules: {
    method: 'GET',
    path: '/schedules',
    summary: 'The schedules of all connections, with the next ten times.',
    permission: 'viewer',
    query: z.object({ connection: z.string().optional().describe('Of this connection only.') }),
    success: { 200: z.object({ data: z.array(ScheduleView) }) },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
