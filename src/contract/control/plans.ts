import { z } from 'zod'
import { operations } from '../operation.ts'
import { PersonPlan, PlanDocument } from './plan-shapes.ts'

const ofConnection = z.object({ connection: z.string() })

/** The query parameter that asks for personal values. */
export const Values = z
  .boolean()
  .default(false)
  .describe('Whether personal values are shown; without them only the names of their fields.')
/** The key or e-mail address of a person. */
export const PersonText = z.string().min(1).max(320)

/** What a run would do now. */
export const planOperations = operations({
  planConnection: {
    method: 'POST',
    path: '/connections/:connection/plan',
    permission: 'operator',
    summary: 'Preview a run. Stores nothing and sends nothing.',
    params: ofConnection,
    query: z.object({ values: Values }),
    success: { 200: PlanDocument },
    errors: [400, 401, 403, 404, 409, 422, 500, 503],
  },
  planPerson: {
    method: 'POST',
    path: '/connections/:connection/plan/person',
    permission: 'operator',
    summary: 'Preview a run of one person, with reasons. Stores nothing and sends nothing.',
    params: ofConnection,
    query: z.object({ values: Values }),
    body: z.strictObject({ person: PersonText.describe('The key or the e-mail address.') }),
    success: { 200: PersonPlan },
    errors: [400, 401, 403, 404, 409, 422, 500, 503],
  },
})
