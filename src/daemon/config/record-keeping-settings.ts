import { z } from 'zod'
import { secretReference } from '../../connectors/file/source-settings.ts'

/** How the audit trail is signed, as the file has it. */
export const AuditSettings = z
  .strictObject({
    signingKey: z
      .string()
      .min(1, { error: 'is empty: check the variable or the file that it comes from' })
      .optional()
      .describe(
        `The ed25519 key in PKCS#8 PEM that signs the audit trail, as ${secretReference}. Needed if several daemons share a database. ` +
          'Default: a key that is generated into dataDir.',
      ),
  })
  .describe('How the audit trail is signed.')

/** How long the store keeps data, as the file has it. */
export const RetentionSettings = z
  .strictObject({
    valuesDays: z
      .int()
      .min(1)
      .max(3650)
      .default(30)
      .describe(
        'How many days the personal values of finished runs, rejected rows and unusable events are kept. Keys, leaving dates and counts stay.',
      ),
    historyDays: z
      .int()
      .min(90)
      .max(36_500)
      .default(1095)
      .describe('How many days finished runs are kept. The last hundred of a connection stay.'),
  })
  .describe('How long the store keeps what it no longer needs.')

/** What an approval needs, as the file has it. */
export const ApprovalSettings = z
  .strictObject({
    expireHours: z
      .int()
      .min(1)
      .max(8760)
      .default(72)
      .describe('For how long a held plan can be approved. Afterwards it is planned again.'),
    twoPeople: z
      .boolean()
      .default(false)
      .describe(
        'Whether the approver must be another person than whoever requested the run or brought in the configuration.',
      ),
    requireReason: z.boolean().default(false).describe('Whether approving or rejecting a held plan takes a reason.'),
  })
  .describe('What an approval of a held plan needs.')
