import { z } from 'zod'

const Folder = z.string().min(1)

/** The settings for an export once the plan from it is decided. All sources with folders share them. */
export const afterwards = {
  accepted: z
    .enum(['keep', 'archive', 'delete'])
    .default('keep')
    .describe('What happens to an export whose plan was accepted: it stays, it moves to archiveDir, or it is deleted.'),
  refused: z
    .enum(['keep', 'move'])
    .default('keep')
    .describe(
      'What happens to an export whose plan a person rejected: it stays, or it moves to rejectDir. An export that Rollcall refuses stays.',
    ),
  archiveDir: Folder.default('archive').describe(
    'Where accepted exports go. Their new names begin with the time (UTC). Only this connection may use the folder. It is relative ' +
      'to the folder that path searches. Nothing in it is ever read as an export.',
  ),
  rejectDir: Folder.default('rejected').describe('Where rejected exports go. The rest is as with archiveDir.'),
}

/** The settings for exports in a folder of this machine. */
export const Afterwards = z
  .strictObject({
    ...afterwards,
    keepDays: z
      .int()
      .min(1)
      .max(36_500)
      .optional()
      .describe(
        'After this many days, files that were moved to archiveDir and rejectDir are deleted. Default: never. Other files stay.',
      ),
  })
  .describe('What happens to an export once its plan is accepted or rejected.')
/** What happens to an export once the plan from it is decided. */
export type Afterwards = z.infer<typeof Afterwards>

/** The beginning of the name of an archived file: the time in UTC, without colons. */
export function archiveStamp(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '')}Z`
}
