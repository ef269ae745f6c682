import type { Queryable } from '../../../src/database/pool.ts'

/** The number of rows and a checksum of their content, for every table of the platform. */
export type Fingerprint = Readonly<Record<string, string>>

/** Takes fingerprints of all tables. Those before and after a test must be equal. */
export async function fingerprints(pool: Queryable): Promise<() => Promise<Fingerprint>> {
  const tables = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'platform' order by 1`,
  )
  const parts = tables.rows.map(
    ({ name }) =>
      `select '${name}' as name, count(*) || ' ' || md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as sum from platform."${name}" t`,
  )
  return async () => {
    const { rows } = await pool.query<{ name: string; sum: string }>(parts.join(' union all '))
    return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]))
  }
}
