import { z } from 'zod'
import { Timestamp } from '../../contract/platform/common.ts'

/** The version of the export format. */
export const exportFormat = 1

/** The header of an export, before the rows. */
export const ExportHeader = z.object({
  of: z.literal('rollcall-platform'),
  format: z.literal(exportFormat),
  exportedAt: Timestamp,
  migrations: z
    .array(z.string())
    .describe('The applied migrations; only a platform with the same ones can import the rows.'),
})
export type ExportHeader = z.infer<typeof ExportHeader>

/** The last number of each numbered column, by `table.column`, so that an import continues the numbers. */
export const ExportSequences = z.record(z.string(), z.int().min(1))
export type ExportSequences = z.infer<typeof ExportSequences>

/** The setting that is not exported: it signs cursors, which name transactions of one database. */
export const ownSetting = 'cursor-secret'
