import { z } from 'zod'
import { Afterwards } from '../file/afterwards.ts'
import { checkFileFormat } from '../file/format.ts'
import { checkCompanions, fileSource } from '../file/source-settings.ts'
import { ExportPath } from './matches.ts'

const folderSettings = {
  type: z.literal(['csv', 'folder']),
  path: ExportPath.describe(
    'The export: a file, or a pattern such as exports/*.csv. Relative to the folder of the configuration file. Symbolic links are ' +
      'refused, except before the first * or other wildcard.',
  ),
  ...fileSource,
  afterwards: Afterwards.prefault({}),
  watch: z
    .enum(['off', 'events', 'polling'])
    .default('off')
    .describe(
      'Whether an export that arrives starts a run. events: the system reports it at once. polling: the daemon looks every ' +
        'pollSeconds, which also works on network file systems.',
    ),
  pollSeconds: z.int().min(1).max(3600).default(30).describe('How often polling looks, in seconds.'),
}

/** The settings of exports in a folder of this machine, without the mapping. `csv` is the type of a folder of CSV exports. */
export const FolderSource = z
  .strictObject(folderSettings)
  .refine(({ type, format }) => type === 'folder' || format === 'csv', {
    path: ['type'],
    error: 'a folder of workbooks or JSON files has type: folder',
  })
  .superRefine(checkFileFormat)
  .superRefine(checkCompanions)

/** The parsed settings of exports in a folder. */
export type FolderSource = z.infer<typeof FolderSource>
