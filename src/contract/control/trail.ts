import { z } from 'zod'
import { operations } from '../operation.ts'
import { After, Limit, page } from './lists.ts'

const Name = z.string().min(1).max(320)

/** An entry of the audit trail. */
export const TrailEntry = z
  .object({
    ordinal: z.int().describe('Its place in the trail.'),
    at: z.string().describe('An instant in ISO 8601, in UTC.'),
    act: z.string().describe('The kind of the entry: what was done.'),
    says: z.string().nullable().describe('The meaning of `act` in words. Null: this version does not know it.'),
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

/** Entries that wait for a signature and are not listed yet. */
export const UnsignedEntries = z
  .object({ entries: z.int(), reason: z.string().describe('Why they cannot be signed.') })
  .meta({ id: 'UnsignedEntries' })
export type UnsignedEntries = z.infer<typeof UnsignedEntries>

/** What the entries of the audit trail can be filtered by. */
export const AuditChoices = z
  .object({
    acts: z.array(z.object({ act: z.string(), says: z.string() })).describe('All actions, each with its meaning.'),
    by: z.array(z.string()).describe('Who did something in the newest 20,000 entries.'),
    connections: z.array(z.string()).describe('The configured connections, and former ones with people or runs.'),
  })
  .meta({ id: 'AuditChoices' })
export type AuditChoices = z.infer<typeof AuditChoices>

/** The filters of audit entries that all their operations share. */
export const auditFilters = {
  from: z.iso.datetime().optional().describe('Entries from this instant on.'),
  to: z.iso.datetime().optional().describe('Entries before this instant.'),
  act: Name.optional().describe('This action, such as `run.approved`, or all actions of a kind, such as `run`.'),
  by: Name.optional().describe('Who did it.'),
  connection: z.string().optional(),
  runId: z.uuid().optional(),
  identityId: Name.optional().describe('The key of a person whom it is about.'),
}

/** Operations to read the audit trail. `auditOperations` verify and export it. */
export const trailOperations = operations({
  readAudit: {
    method: 'GET',
    path: '/audit/entries',
    summary: 'The audit entries, the newest first.',
    description:
      'With a filter for rare actions, a page may have fewer entries than requested, or none, and still a `next`, because each search is limited.',
    permission: 'viewer',
    query: z.object({ ...auditFilters, after: After, limit: Limit.default(50) }),
    success: { 200: page(TrailEntry, z.string()).extend({ unsigned: UnsignedEntries.nullable() }) },
    errors: [400, 401, 403, 429, 500, 503],
  },
  listAuditChoices: {
    method: 'GET',
    path: '/audit/choices',
    summary: 'What the audit entries can be filtered by: actions, people and connections.',
    permission: 'viewer',
    success: { 200: AuditChoices },
    errors: [401, 403, 500, 503],
  },
})
