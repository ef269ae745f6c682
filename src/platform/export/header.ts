import { z } from 'zod'
import { Timestamp } from '../../contract/platform/common.ts'

export const exportFormat = 1

/** What an export says of itself before it comes to the rows. */
export const ExportHeader = z.object({
  of: z.literal('rollcall-platform'),
  format: z.literal(exportFormat),
  exportedAt: Timestamp,
  migrations: z
    .array(z.string())
    .describe('What made the tables; only a platform with the same ones can take the rows.'),
})
export type ExportHeader = z.infer<typeof ExportHeader>

/** The last number given in each numbered column, by `table.column`. Numbers are never given again, also after an import. */
export const ExportSequences = z.record(z.string(), z.int().min(1))
export type ExportSequences = z.infer<typeof ExportSequences>

/** Signs the cursors of this one database, and says nothing elsewhere: cursors name transactions, which every database counts for itself. */
export const ownSetting = 'cursor-secret'
