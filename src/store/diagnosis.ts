import { sql } from 'kysely'
import type { Db } from './schema.ts'

type Diagnosis = {
  /** The version of the database server, as it states it. */
  readonly database: string
  readonly bytes: number
  /** `rows`: an estimate of the query planner; 0 for a table that was never analysed. */
  readonly tables: { name: string; bytes: number; rows: number }[]
  readonly migrations: { name: string; appliedAt: string }[]
  /** Work that waits. `oldest`: the earliest time at which a delivery was due; `runs` are waiting, `events` pending. */
  readonly due: { deliveries: number; people: number; oldest: string | null; runs: number; events: number }
}

/** Sizes, migrations and due work of the store, for a diagnosis. */
export async function readDiagnosis(db: Db): Promise<Diagnosis> {
  const [about] = (
    await sql<{ serverVersion: string; bytes: string }>`
    select version() as "serverVersion", pg_database_size(current_database())::text as bytes`.execute(db)
  ).rows
  const tables = await sql<{ name: string; bytes: string; estimatedRows: string }>`
    select relname as name, pg_total_relation_size(oid)::text as bytes,
      greatest(reltuples, 0)::bigint::text as "estimatedRows"
    from pg_class where relkind = 'r' and relnamespace = 'rollcall'::regnamespace
    order by pg_total_relation_size(oid) desc, relname`.execute(db)
  const migrations = await sql<{ name: string; appliedAt: Date }>`
    select name, applied_at as "appliedAt" from rollcall.migrations order by name`.execute(db)
  const [due] = (
    await sql<{ deliveries: number; people: number; oldestDueAt: Date | null; runs: number; events: number }>`
    select count(*)::int as deliveries, coalesce(sum(people), 0)::int as people, min(due_at) as "oldestDueAt",
      (select count(*)::int from runs where state = 'waiting') as runs,
      (select count(*)::int from inbox where state = 'pending') as events
    from deliveries where state = 'due'`.execute(db)
  ).rows
  if (about === undefined || due === undefined) throw new Error('the database did not answer with a row')
  const { oldestDueAt, ...counts } = due
  return {
    database: about.serverVersion,
    bytes: Number(about.bytes),
    tables: tables.rows.map(({ name, bytes, estimatedRows }) => ({
      name,
      bytes: Number(bytes),
      rows: Number(estimatedRows),
    })),
    migrations: migrations.rows.map(({ name, appliedAt }) => ({ name, appliedAt: appliedAt.toISOString() })),
    due: { ...counts, oldest: oldestDueAt?.toISOString() ?? null },
  }
}
