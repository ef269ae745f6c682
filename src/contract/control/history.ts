import { z } from 'zod'
import { operations } from '../operation.ts'

const Count = z.int().min(0)

/** The people and accepted changes of a connection on one day. */
export const ConnectionDay = z.object({
  day: z.iso.date(),
  people: Count.nullable().describe('Everybody HR had told of by the end of the day. Null: it is not known.'),
  separated: Count.nullable().describe('Those of them who had left.'),
  runs: Count.describe('Runs that were accepted on that day.'),
  changes: z
    .object({ join: Count, update: Count, leave: Count, return: Count, correct: Count, retract: Count })
    .describe(
      'What these runs accepted anew, by kind. What an earlier run had accepted and could not deliver is left out.',
    ),
})
export type ConnectionDay = z.infer<typeof ConnectionDay>

const ConnectionHistory = z
  .object({
    connection: z.string(),
    timeZone: z.string().describe('In which the days begin.'),
    days: z.array(ConnectionDay).describe('The oldest first. The last one is today.'),
  })
  .meta({ id: 'ConnectionHistory' })

/** Operations on the history of a connection by day. */
export const historyOperations = operations({
  connectionHistory: {
    method: 'GET',
    path: '/connections/:connection/history',
    summary: 'The number of people and changes of a connection per day. It goes back as far as runs are kept.',
    permission: 'viewer',
    params: z.object({ connection: z.string() }),
    query: z.object({ days: z.int().min(1).max(366).default(90).describe('How many days, today included.') }),
    success: { 200: ConnectionHistory },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
