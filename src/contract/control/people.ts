import { z } from 'zod'
import { operations } from '../operation.ts'
import { After, Limit, page, Search } from './lists.ts'
import { RecordView } from './shapes.ts'

export const PersonSearchResult = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    by: z
      .enum(['key', 'email', 'name'])
      .nullable()
      .describe('What of the person begins as the search does; null where nothing was searched for.'),
    state: z.enum(['employed', 'left', 'retracted']).describe('As HR has the person.'),
    person: RecordView.describe('Name, title, manager, e-mail and the days of employment.'),
  })
  .meta({ id: 'FoundPerson' })
export type PersonSearchResult = z.infer<typeof PersonSearchResult>

/** How an operator finds a person. */
export const peopleOperations = operations({
  searchPeople: {
    method: 'GET',
    path: '/people',
    summary:
      'People by the beginning of their key, their e-mail address or a part of their name, as HR writes them; those whose key begins so come first. A page may hold fewer people than asked for, also none, and still have a `next`: so many were looked through.',
    permission: 'operator',
    query: z.object({
      connection: z.string().optional().describe('Of this connection only.'),
      search: Search.optional().describe(
        'In any case. Of several words, each begins a part of the name. Left out: all people by key.',
      ),
      after: After,
      limit: Limit.default(50),
    }),
    success: { 200: page(PersonSearchResult, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
