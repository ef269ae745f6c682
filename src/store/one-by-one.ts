import { type RawBuilder, sql } from 'kysely'

/**
 * Ends a subquery about one person that has PostgreSQL look the person up by key, for each row by itself. The statistics know nothing of a run
 * that was just written, and take it for one row. A join of two tables of it may then compare each row with all others.
 */
export const oneByOne: RawBuilder<unknown> = sql`offset 0`
