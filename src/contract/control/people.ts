import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { After, Limit, page, Search } from './lists.ts'
import { Person } from './person-shapes.ts'
import { RecordView } from './plan-shapes.ts'
import { Values } from './plans.ts'
import { Run } from './run-shapes.ts'

/** A person whom a search matched. */
export const PersonSearchResult = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    by: z
      .enum(['key', 'email', 'name'])
      .nullable()
      .describe('What of the person holds the search; null where nothing was searched for.'),
    state: z.enum(['employed', 'left', 'retracted']).describe('As HR has the person.'),
    person: RecordView.describe('Name, title, manager, e-mail and the days of employment; for viewers the days only.'),
  })
  .meta({ id: 'FoundPerson' })
export type PersonSearchResult = z.infer<typeof PersonSearchResult>

const ofPerson = z.object({ connection: z.string(), identityId: z.string() })

/** How people find a person, see what is known of them, retract them and forget them. */
export const peopleOperations = operations({
  searchPeople: {
    method: 'GET',
    path: '/people',
    summary:
      'Find people by any part of the key, the e-mail address or the name; viewers by the key only. People whose key begins so come first. A page may hold fewer people than asked for, also none, and still have a `next`, as each search is limited.',
    permission: 'viewer',
    query: z.object({
      connection: z.string().optional().describe('Of this connection only.'),
      search: Search.optional().describe(
        'In any case and without marks: `ozturk` and `oeztuerk` find Öztürk. Of several words, the name holds each. Left out: all people by key.',
      ),
      after: After,
      limit: Limit.default(50),
    }),
    success: { 200: page(PersonSearchResult, z.string()) },
    errors: [400, 401, 403, 404, 429, 500, 503],
  },
  getPerson: {
    method: 'GET',
    path: '/connections/:connection/people/:identityId',
    permission: 'viewer',
    summary: 'One person: what is desired and confirmed, with the history.',
    params: ofPerson,
    query: z.object({ values: Values }),
    success: { 200: Person },
    errors: [400, 401, 403, 404, 500, 503],
  },
  retractPerson: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/retraction',
    permission: 'approver',
    summary: 'Retract a person who was sent by mistake. The run is held for an approval.',
    params: ofPerson,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  withdrawRetraction: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/retraction/withdrawal',
    permission: 'approver',
    summary: 'Withdraw a retraction: the next run sends the person again.',
    params: ofPerson,
    body: z.strictObject({ by: By }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  forgetPerson: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/forgetting',
    permission: 'approver',
    summary: 'Forget the values of a leaver or retracted person. Key and leaving date stay.',
    params: ofPerson,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: {
      200: z.object({ identityId: z.string(), changes: z.int().describe('Changes that lost their values.') }),
    },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
})
