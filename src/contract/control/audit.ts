import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { page } from './lists.ts'
import { auditFilters } from './trail.ts'

/** The result of checking the whole audit trail. */
export const AuditVerification = z
  .object({
    entries: z.int().min(0),
    heads: z.int().min(0).describe('How often the trail was signed.'),
    pending: z.int().min(0).describe('Audit entries that are not signed yet.'),
    finding: z.string().nullable().describe('The first thing that is wrong; null: nothing is.'),
    ordinal: z.int().nullable().describe('The number of that entry, if it is about one.'),
    untiedUpTo: z
      .int()
      .nullable()
      .describe(
        'Entries up to this one were signed by a key that was missing when the next key took over. The next key vouches for them.',
      ),
    restored: z
      .object({
        ordinal: z.int().describe('The entry that says so.'),
        at: z.iso.datetime(),
        lost: z.int().nullable().describe('Entries that were signed here after the backup; null: that is not known.'),
      })
      .nullable()
      .describe(
        'The last time that the store was restored from a backup: entries between the backup and the restore are not in the trail.',
      ),
  })
  .meta({ id: 'AuditVerification' })
export type AuditVerification = z.infer<typeof AuditVerification>

/** What a new signing key took over. */
export const AuditKeyReplaced = z
  .object({
    tied: z.boolean().describe('Whether the previous key has signed the takeover.'),
    ordinal: z.int().describe('The entry that says so.'),
    publicKey: z.string().describe('The public half of the new key, in PEM.'),
  })
  .meta({ id: 'AuditKeyReplaced' })
export type AuditKeyReplaced = z.infer<typeof AuditKeyReplaced>

/** How the audit trail is verified and exported, and how a new key takes over. */
export const auditOperations = operations({
  verifyAudit: {
    method: 'POST',
    path: '/audit/verification',
    permission: 'viewer',
    summary: 'Verify the whole audit trail; the response names the first fault.',
    body: z.strictObject({
      publicKey: z.string().max(1000).optional().describe('PEM, instead of the key of this installation.'),
    }),
    success: { 200: AuditVerification },
    errors: [400, 401, 409, 500, 503],
  },
  exportAudit: {
    method: 'GET',
    path: '/audit/trail',
    permission: 'viewer',
    summary: 'Export the audit trail with its signatures, as lines of JSON.',
    query: z.object({ ...auditFilters, after: z.int().min(0).default(0) }),
    success: { 200: page(z.string(), z.int()) },
    errors: [400, 401, 500, 503],
  },
  replaceAuditKey: {
    method: 'POST',
    path: '/audit/key',
    permission: 'admin',
    summary: 'Replace the key that signs the audit trail. The former one signs the change too, if it is there.',
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: AuditKeyReplaced },
    errors: [400, 401, 403, 409, 500, 503],
  },
})
