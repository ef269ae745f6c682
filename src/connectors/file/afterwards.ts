import { z } from 'zod'

const Folder = z.string().min(1)

/** What becomes of an export once a plan was made from it. Shared by sources that keep their exports in folders. */
export const afterwards = {
  accepted: z
    .enum(['keep', 'archive', 'delete'])
    .default('keep')
    .describe('What becomes of an export whose plan was accepted: it stays, it moves to archiveDir, or it is deleted.'),
  refused: z
    .enum(['keep', 'move'])
    .default('keep')
    .describe('What becomes of an export whose plan a person refused: it stays, or it moves to rejectDir.'),
  archiveDir: Folder.default('archive').describe(
    'Where accepted exports go, under a name that begins with the time (UTC). A folder of this connection alone; relative to the ' +
      'folder that path searches. Nothing in it is ever read as an export.',
  ),
  rejectDir: Folder.default('rejected').describe('Where refused exports go; like archiveDir.'),
}

export const Afterwards = z
  .strictObject({
    ...afterwards,
    keepDays: z
      .int()
      .min(1)
      .max(36_500)
      .optional()
      .describe(
        'After so many days what was moved to archiveDir and rejectDir is deleted there. Default: never. Other files stay.',
      ),
  })
  .describe('What becomes of an export that has been read.')
export type Afterwards = z.infer<typeof Afterwards>
