import { z } from 'zod'

/**
 * A backup is lines of JSON, compressed with gzip: the header, then each table with its rows, then the end with the digest of all that
 * came before. Every value is the text that PostgreSQL writes, so that it is the same for each size and each version of the server.
 */
export const backupFormat = 1

export const BackupHeader = z.object({
  rollcall: z.literal('backup'),
  format: z.int(),
  version: z.string(),
  installation: z.uuid(),
  madeAt: z.iso.datetime(),
  /** What the tables are made by, with the digest of each text. */
  migrations: z.array(z.object({ name: z.string(), sha256: z.string() })),
})
export type BackupHeader = z.infer<typeof BackupHeader>

/** `counters`: columns that count by themselves, with the last number that was given and whether it was used. */
export const BackupTable = z.object({
  table: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  counters: z.array(z.object({ column: z.string(), last: z.string(), isCalled: z.boolean() })),
})
export type BackupTable = z.infer<typeof BackupTable>

export const BackupEnd = z.object({
  end: z.object({ rows: z.int(), people: z.int(), sha256: z.string() }),
})
export type BackupEnd = z.infer<typeof BackupEnd>

/** One row: its values as texts, in the order of the columns. It is kept as JSON, as it is handed on. */
export type BackupLine =
  | { readonly kind: 'header'; readonly header: BackupHeader }
  | { readonly kind: 'table'; readonly table: BackupTable }
  | { readonly kind: 'rows'; readonly rows: readonly string[] }
