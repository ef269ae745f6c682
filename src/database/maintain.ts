import type { Queryable } from './pool.ts'

/**
 * A table is vacuumed above this number and share of dead rows, and analyzed above this number and share of changed rows, as by
 * autovacuum.
 */
const dead = { rows: 50, share: 0.2 }
const changed = { rows: 50, share: 0.1 }
/** Maximum number of tables per call, the worst first. */
const maxTables = 8

/**
 * Vacuums and analyzes the tables that need it most, as autovacuum does on a server. An embedded database has none, so dead rows, also of
 * its catalogue, would stay for ever. Each table has a statement of its own, so that other work can run between them. Returns the number
 * of tables.
 */
export async function maintain(pool: Queryable): Promise<number> {
  const { rows } = await pool.query<{ name: string; vacuums: boolean }>(
    `select format('%I.%I', schemaname, relname) as name, n_dead_tup > $1::float8 + $2::float8 * n_live_tup as vacuums
     from pg_stat_all_tables
     where (n_dead_tup > $1::float8 + $2::float8 * n_live_tup or n_mod_since_analyze > $3::float8 + $4::float8 * n_live_tup)
       and schemaname not like 'pg_toast%' and schemaname not like 'pg_temp%'
     order by n_dead_tup + n_mod_since_analyze desc limit $5`,
    [dead.rows, dead.share, changed.rows, changed.share, maxTables],
  )
  for (const { name, vacuums } of rows) await pool.query(vacuums ? `vacuum (analyze) ${name}` : `analyze ${name}`)
  return rows.length
}

/** Maintains an embedded database at an interval, until disposed. Errors go to `failed`, and the next call comes anyway. */
export function maintainRegularly(
  pool: Queryable,
  { pauseMs, failed }: { pauseMs: number; failed: (error: unknown) => void },
): AsyncDisposable {
  let turn: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    turn = turn.then(() => maintain(pool)).catch(failed)
  }, pauseMs).unref()
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await turn
    },
  }
}
