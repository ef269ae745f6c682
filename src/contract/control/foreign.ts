import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { After, Limit, page } from './lists.ts'
import { Run } from './run-shapes.ts'

const Instant = z.string().describe('An instant in ISO 8601, in UTC.')

/** A person whom the platform shows as employed and no accepted export states. */
export const ForeignPerson = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    firstAt: Instant.describe('When the list of the platform first contained the person.'),
    ageSeconds: z.number().int().min(0),
    lastAt: Instant.describe('When that list was last read.'),
  })
  .meta({ id: 'ForeignPerson' })
export type ForeignPerson = z.infer<typeof ForeignPerson>

/** Maximum number of people that one run separates. */
const maxSeparated = 1000

/** How an operator deals with people whom only the platform knows. */
export const foreignOperations = operations({
  listForeign: {
    method: 'GET',
    path: '/foreign',
    permission: 'viewer',
    summary: 'The people whom only the platform knows.',
    query: z.object({ connection: z.string().optional(), after: After, limit: Limit.default(500) }),
    success: { 200: page(ForeignPerson, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  separateForeign: {
    method: 'POST',
    path: '/connections/:connection/foreign/separation',
    permission: 'approver',
    summary: 'Separate people whom only the platform knows. The run is held for an approval; nothing is deleted.',
    params: z.object({ connection: z.string() }),
    body: z.strictObject({
      identityIds: z.array(z.string().min(1)).min(1).max(maxSeparated),
      on: z
        .string()
        .optional()
        .describe('The last day as YYYY-MM-DD, in the time zone of the source. Left out: today.'),
      reason: z.string().min(1).max(500),
      by: By,
    }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
})
