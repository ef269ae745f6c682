import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'

const File = z.string().min(1).max(4096).describe('The whole path, as the daemon sees it.')

const BackedUp = z
  .object({
    file: z.string(),
    madeAt: z.iso.datetime(),
    bytes: z.int(),
    rows: z.int(),
    people: z.int().describe('How many people it knows.'),
    sha256: z.string().describe('The digest of its content before it is compressed; it stands at its end.'),
  })
  .meta({ id: 'BackedUp' })

/** A store that was restored from a backup. */
export const Restored = z
  .object({
    file: z.string(),
    madeAt: z.iso.datetime().describe('When the backup was made.'),
    rows: z.int(),
    people: z.int(),
    runsEnded: z.int().describe('Runs that were under way at the time of the backup.'),
    entriesLost: z
      .int()
      .nullable()
      .describe('Entries of the audit trail that were signed here after the backup; null: that is not known here.'),
  })
  .meta({ id: 'Restored' })
export type Restored = z.infer<typeof Restored>

/** The progress of a restoration. */
export const Restoration = z
  .object({
    id: z.uuid(),
    restored: Restored.nullable().describe('Null: it failed, and the store is as it was.'),
    failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: 'Restoration' })
export type Restoration = z.infer<typeof Restoration>

/** How the store is backed up and restored while a daemon runs. */
export const storeOperations = operations({
  backUpStore: {
    method: 'POST',
    path: '/store/backup',
    permission: 'admin',
    summary: 'Write a backup of the store.',
    body: z.strictObject({ file: File, by: By }),
    success: { 201: BackedUp },
    errors: [400, 401, 403, 409, 500, 503],
  },
  restoreStore: {
    method: 'POST',
    path: '/store/restoration',
    permission: 'admin',
    summary: 'Restore the store from a backup. The daemon checks the file, ends its work, restores and starts again.',
    body: z.strictObject({
      file: File,
      replace: z.boolean().default(false).describe('Whether a store that knows people may be replaced.'),
      reason: z.string().trim().min(1).max(500),
      by: By,
    }),
    success: { 201: z.object({ id: z.uuid(), people: z.int() }) },
    errors: [400, 401, 403, 409, 422, 500, 503],
  },
  lastRestoration: {
    method: 'GET',
    path: '/store/restoration',
    permission: 'viewer',
    summary: 'The result of the last restore.',
    success: { 200: z.object({ last: Restoration.nullable() }) },
    errors: [401, 500],
  },
})
