import type { Queryable } from '../database/pool.ts'

/** The schema with the jobs in a database. */
export const jobsSchema = 'bullmq'

/** Whether a database has the tables of jobs. Opening the queue creates them. Needs no rights on them. */
export async function hasJobTables(database: Queryable): Promise<boolean> {
  const { rows } = await database.query<{ isThere: boolean }>(
    `SELECT EXISTS (
       SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1 AND relname = 'meta'
     ) AS "isThere"`,
    [jobsSchema],
  )
  return rows[0]?.isThere ?? false
}
