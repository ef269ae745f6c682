import { z } from 'zod'

export const AuditVerification = z
  .object({
    entries: z.int().min(0),
    heads: z.int().min(0).describe('How often the trail was signed.'),
    pending: z.int().min(0).describe('Acts that have no place in the trail yet.'),
    finding: z.string().nullable().describe('The first thing that is wrong; null: nothing is.'),
    ordinal: z.int().nullable().describe('The number of that entry, if it is about one.'),
    untiedUpTo: z
      .int()
      .nullable()
      .describe(
        'Entries up to this one were signed by a key that was not there when the next took over. That one vouches for them since.',
      ),
    restored: z
      .object({
        ordinal: z.int().describe('The entry that says so.'),
        at: z.iso.datetime(),
        lost: z.int().nullable().describe('Entries that were signed here after the backup; null: that is not known.'),
      })
      .nullable()
      .describe('The last time that the store was put back from a backup: what came between is not in the trail.'),
  })
  .meta({ id: 'AuditVerification' })
export type AuditVerification = z.infer<typeof AuditVerification>

export const AuditKeyReplaced = z
  .object({
    tied: z.boolean().describe('Whether the former key has signed the takeover.'),
    ordinal: z.int().describe('The entry that says so.'),
    publicKey: z.string().describe('The public half of the new key, in PEM.'),
  })
  .meta({ id: 'AuditKeyReplaced' })
export type AuditKeyReplaced = z.infer<typeof AuditKeyReplaced>
