import { z } from 'zod'
import { operations } from '../operation.ts'
import { After, Limit, page } from './lists.ts'
import { Count, Instant, type OthersGoOn } from './plan-shapes.ts'
import { Values } from './plans.ts'

/** A person who was left out when a part of a plan was approved, and waits until somebody approves the change. */
export const LeftOutPerson = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    name: z.string().nullable().optional().describe('Only where values are asked for. Null: none is known.'),
    departs: z
      .boolean()
      .describe('What waits: true: a departure. False: another change, as that of a joiner or of values.'),
    since: Instant.describe('When the person was left out first.'),
    ageSeconds: Count,
    runId: z.string().describe('The held run of which a part was approved without the person.'),
    approved: z
      .object({ by: z.string(), at: Instant })
      .nullable()
      .describe('Who approved that part. Null: not known, as after a restore.'),
    held: z
      .object({ runId: z.string(), isExpired: z.boolean().describe('It can no longer be approved: run again.') })
      .nullable()
      .describe('The held run that has the change now. Null: nothing is to decide until HR states the change again.'),
  })
  .meta({ id: 'LeftOutPerson' })
export type LeftOutPerson = z.infer<typeof LeftOutPerson>

/** `4 people who were left out of run 1a2b3c4d wait for a decision; all others would be delivered`. */
export function othersGoOnText({ people, runIds }: OthersGoOn): string {
  const runs = runIds.map((id) => `run ${id.slice(0, 8)}`).join(', ')
  const who = people === 1 ? '1 person who was' : `${people.toLocaleString('en')} people who were`
  return `${who} left out of ${runs} ${people === 1 ? 'waits' : 'wait'} for a decision; all others would be delivered`
}

/** How people see who waits because a part of a plan was approved without them. */
export const leftOutOperations = operations({
  listLeftOut: {
    method: 'GET',
    path: '/left-out',
    permission: 'viewer',
    summary: 'The people who were left out when a part of a plan was approved, and wait for an approval.',
    query: z.object({
      connection: z.string().optional(),
      after: After,
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(LeftOutPerson, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
