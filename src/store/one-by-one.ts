import { type RawBuilder, sql } from 'kysely'

/**
 * Ends a subquery about one person, so that PostgreSQL looks the person up by key for each row. The statistics do not cover a run that
 * was just written and assume one row, so a join of two of its tables could compare each row with all others.
 */
export const oneByOne: RawBuilder<unknown> = sql`offset 0`
