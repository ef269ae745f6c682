import { sql } from 'kysely'
import type { Db } from './schema.ts'

type Diagnosis = {
  readonly database: string
  readonly bytes: number
  readonly tables: { name: string; bytes: number; rows: number }[]
  readonly migrations: { name: string; appliedAt: string }[]
  readonly due: { deliveries: number; people: number; oldest: string | null; runs: number; events: number }
}

/** Sizes, migrations and due work of the store, for a diagnosis. */
export async function diagnosis(db: Db): Promise<Diagnosis> {
  const [about] = (
    await sql<{ database: string; bytes: string }>`
    select version() as database, pg_database_size(current_database())::text as bytes`.execute(db)
  ).rows
  const tables = await sql<{ name: string; bytes: string; rows: string }>`
    select relname as name, pg_total_relation_size(oid)::text as bytes, greatest(reltuples, 0)::bigint::text as rows
    from pg_class where relkind = 'r' and relnamespace = 'rollcall'::regnamespace
    order by pg_total_relation_size(oid) desc, relname`.execute(db)
  const migrations = await sql<{ name: string; appliedAt: Date }>`
    select name, applied_at as "appliedAt" from rollcall.migrations order by name`.execute(db)
  const [due] = (
    await sql<{ deliveries: number; people: number; oldest: Date | null; runs: number; events: number }>`
    select count(*)::int as deliveries, coalesce(sum(people), 0)::int as people, min(due_at) as oldest,
      (select count(*)::int from runs where state = 'waiting') as runs,
      (select count(*)::int from inbox where state = 'pending') as events
    from deliveries where state = 'due'`.execute(db)
  ).rows
  if (about === undefined || due === undefined) throw new Error('the database did not answer with a row')
  return {
    database: about.database,
    bytes: Number(about.bytes),
    tables: tables.rows.map(({ name, bytes, rows }) => ({ name, bytes: Number(bytes), rows: Number(rows) })),
    migrations: migrations.rows.map(({ name, appliedAt }) => ({ name, appliedAt: appliedAt.toISOString() })),
    due: { ...due, oldest: due.oldest?.toISOString() ?? null },
  }
}
