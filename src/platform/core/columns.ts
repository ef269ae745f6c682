import type { ColumnType } from 'kysely'

/** A time; the driver reads a Date and takes a Date or an ISO text. */
export type Instant = ColumnType<Date, Date | string, Date | string>
/** As `Instant`, or null. */
export type OptionalInstant = ColumnType<Date | null, Date | string | null, Date | string | null>

/** The writing transaction: the default sets it on insert, and every update sets `pg_current_xact_id()`. Never read into the process. */
export type WritingTransaction = ColumnType<never, never, never>

/** When a row was created and last changed. */
export type Timestamps = { created_at: Instant; updated_at: Instant }

/** The columns that `listPage` needs. */
export type ListColumns = Timestamps & { changed_in: WritingTransaction }
