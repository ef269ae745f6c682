import { z } from 'zod'
import { TimeZone } from '../../identity/mapping/zones.ts'
import { AsOf } from './as-of.ts'
import { Completeness, companionSuffixes } from './completeness.ts'
import { exportFormat, FileFormat } from './format.ts'

/** How the configuration refers to a secret. */
export const secretReference = `\${env:NAME} or \${file:PATH}`

/** A setting that is a secret. The configuration accepts only a reference to it. */
export const secretText = z.string().min(1, { error: 'is empty: check the variable or the file that it comes from' })

/** The settings of every source about its rows. */
export const rowSource = {
  mode: z
    .enum(['snapshot', 'delta'])
    .describe(
      'snapshot: the source lists all people, and people missing from it are absent. delta: it lists changes, and absence means ' +
        'nothing. Required, because a wrong guess would separate people.',
    ),
  timeZone: TimeZone.default('UTC').describe(
    "The IANA time zone of the source's dates, such as Europe/Berlin. It decides which day today is, and when the day of a file name begins.",
  ),
}

/** Further settings of every source of files: which file is read, when it is complete, and how it is written. */
export const fileSource = {
  ...rowSource,
  take: z
    .enum(['newest', 'each'])
    .default('newest')
    .describe(
      'newest: of several matches, the newest is read, by modification time, then by name. each: every match is read once, the ' +
        'oldest first. Use each for deltas.',
    ),
  format: FileFormat,
  ...exportFormat,
  complete: Completeness.prefault({}),
  asOf: AsOf.default({ from: 'modificationTime' }),
}

/** The setting that names the export is `path`, or `pattern` where the folder has a setting of its own. */
type FileSettings = { readonly complete: Completeness; readonly path?: string; readonly pattern?: string }

/** Adds an issue if an export could be mistaken for its marker or its side file. */
export function checkCompanions({ path, pattern = '', complete }: FileSettings, context: z.RefinementCtx): void {
  const { marker, sideFile } = complete
  if (companionSuffixes(complete).some((suffix) => (path ?? pattern).endsWith(suffix))) {
    const message = 'ends like the marker or the side file of an export, not like an export'
    context.addIssue({ code: 'custom', path: [path === undefined ? 'pattern' : 'path'], message })
  }
  if (marker !== undefined && marker === sideFile?.suffix) {
    const message = 'marker and side file must have different endings'
    context.addIssue({ code: 'custom', path: ['complete', 'marker'], message })
  }
}
