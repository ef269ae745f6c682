import { z } from 'zod'
import { operations } from '../operation.ts'
import { Run } from './run-shapes.ts'

/**
 * What a person may call a run: the beginning of its id, `last` for the newest one, `last-1` for the one before, `@held` for the one that
 * waits for a decision.
 */
export const RunName = z
  .string()
  .trim()
  .toLowerCase()
  .regex(
    /^(?:[0-9a-f][0-9a-f-]{3,35}|last(?:-\d{1,3})?|@held)$/,
    'is no name of a run: give an id or at least its first four signs, last, last-1 or @held',
  )

/** How a person names a run without its whole id. */
export const runNameOperations = operations({
  findRuns: {
    method: 'GET',
    path: '/runs/named/:name',
    permission: 'viewer',
    summary:
      'The runs that a name can mean: the beginning of an id, `last`, `last-1` or `@held`. Several runs are for a person to choose from, the newest first.',
    params: z.object({ name: RunName }),
    query: z.object({ connection: z.string().optional().describe('Of this connection only.') }),
    success: {
      200: z.object({
        data: z.array(Run).describe('The newest twenty.'),
        more: z.boolean().describe('There are others.'),
      }),
    },
    errors: [400, 401, 404, 500, 503],
  },
})
