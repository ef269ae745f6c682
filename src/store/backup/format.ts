import { z } from 'zod'

/**
 * Version of the format. A backup is lines of JSON, compressed with gzip: the header, then each table with its rows, then the end with
 * the digest of all lines before. Every value is the text that PostgreSQL writes, so backups look the same for every size of installation
 * and version of the server.
 */
export const backupFormat = 1

/** The first line of a backup. */
export const BackupHeader = z.object({
  rollcall: z.literal('backup'),
  format: z.int(),
  version: z.string(),
  installation: z.uuid(),
  madeAt: z.iso.datetime(),
  /** The migrations of the store, with the digest of each. */
  migrations: z.array(z.object({ name: z.string(), sha256: z.string() })),
})
export type BackupHeader = z.infer<typeof BackupHeader>

/** A table before its rows. `counters`: identity columns with the last number of their sequence, and whether it was used already. */
export const BackupTable = z.object({
  table: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  counters: z.array(z.object({ column: z.string(), last: z.string(), isCalled: z.boolean() })),
})
export type BackupTable = z.infer<typeof BackupTable>

/** The last line of a backup, with the digest of all lines before it. */
export const BackupEnd = z.object({
  end: z.object({ rows: z.int(), people: z.int(), sha256: z.string() }),
})
export type BackupEnd = z.infer<typeof BackupEnd>

/** One step of a backup. Rows are arrays of texts in the order of the columns, still encoded as JSON. */
export type BackupLine =
  | { readonly kind: 'header'; readonly header: BackupHeader }
  | { readonly kind: 'table'; readonly table: BackupTable }
  | { readonly kind: 'rows'; readonly rows: readonly string[] }
