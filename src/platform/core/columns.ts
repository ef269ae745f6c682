import type { ColumnType } from 'kysely'

export type Instant = ColumnType<Date, Date | string, Date | string>
export type OptionalInstant = ColumnType<Date | null, Date | string | null, Date | string | null>

/** Written by the database on insert and by every update as `pg_current_xact_id()`; never read into the process. */
export type WritingTransaction = ColumnType<never, never, never>

export type Stamped = { created_at: Instant; updated_at: Instant }

/** What a list that is read in pages needs of its rows. */
export type Listed = Stamped & { changed_in: WritingTransaction }
