import { z } from 'zod'
import { operations } from '../operation.ts'
import { After, Limit, page } from './lists.ts'

const Name = z.string().min(1).max(320)

/** An entry of the audit trail. */
export const TrailEntry = z
  .object({
    ordinal: z.int().describe('Its place in the trail.'),
    at: z.string().describe('An instant in ISO 8601, in UTC.'),
    act: z.string(),
    says: z.string().nullable().describe('What such an act is. Null: this version knows no such act.'),
    by: z.string().describe('The person who did it, or the part of the daemon.'),
    connection: z.string().nullable().describe('Null: it concerns the installation.'),
    runId: z.string().nullable(),
    identityId: z.string().nullable().describe('The person whom it is about.'),
    details: z
      .record(z.string(), z.unknown())
      .describe('Keys, counts, digests, and the reason that a person typed. Never a personal value.'),
  })
  .meta({ id: 'TrailEntry' })
export type TrailEntry = z.infer<typeof TrailEntry>

/** How people read the audit trail. What proves it is exported. */
export const trailOperations = operations({
  readAudit: {
    method: 'GET',
    path: '/audit/entries',
    summary: 'The audit entries, the newest first.',
    description:
      'With a filter for rare acts, a page may hold fewer entries than asked for, also none, and still have a `next`, as each search is limited.',
    permission: 'viewer',
    query: z.object({
      act: Name.optional().describe('Acts that are called so, or all whose name begins so up to a dot, such as `run`.'),
      by: Name.optional().describe('Who did it.'),
      connection: z.string().optional(),
      identityId: Name.optional().describe('The key of a person whom it is about.'),
      runId: z.uuid().optional(),
      after: After,
      limit: Limit.default(50),
    }),
    success: { 200: page(TrailEntry, z.string()) },
    errors: [400, 401, 403, 500, 503],
  },
})
