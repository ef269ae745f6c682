import type { Queryable } from './pool.ts'

/** A table is vacuumed beyond so many dead rows and this share of its rows, and analysed beyond as many that changed: as a server does by itself. */
const dead = { rows: 50, share: 0.2 }
const changed = { rows: 50, share: 0.1 }
/** So many tables at a time, the worst first; the next turn takes the rest. */
const atOnce = 8

/**
 * Vacuums and analyses what needs it most, table by table, as the autovacuum of a server does. An embedded database has none, so that dead
 * rows, also those of its catalogue, would stay for ever. Each table takes a statement of its own, so that other work gets its turn between
 * them. Answers how many tables were taken.
 */
export async function maintain(pool: Queryable): Promise<number> {
  const { rows } = await pool.query<{ name: string; vacuums: boolean }>(
    `select format('%I.%I', schemaname, relname) as name, n_dead_tup > $1::float8 + $2::float8 * n_live_tup as vacuums
     from pg_stat_all_tables
     where (n_dead_tup > $1::float8 + $2::float8 * n_live_tup or n_mod_since_analyze > $3::float8 + $4::float8 * n_live_tup)
       and schemaname not like 'pg_toast%' and schemaname not like 'pg_temp%'
     order by n_dead_tup + n_mod_since_analyze desc limit $5`,
    [dead.rows, dead.share, changed.rows, changed.share, atOnce],
  )
  for (const { name, vacuums } of rows) await pool.query(vacuums ? `vacuum (analyze) ${name}` : `analyze ${name}`)
  return rows.length
}

/** Maintains an embedded database every few minutes, until disposed. What goes wrong goes to `failed`, and the next turn comes anyway. */
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
