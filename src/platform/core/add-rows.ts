import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { PlatformSchema } from './schema.ts'

/**
 * Stores those rows whose keys are not taken, in their order and in one statement, and returns them as stored. All rows have the
 * same columns; values are what JSON can say of them. The rows are one parameter: PostgreSQL takes 65,535 of them at most.
 */
export async function addRows<T extends keyof PlatformSchema>(
  trx: Kysely<PlatformSchema>,
  table: T,
  rows: readonly Insertable<PlatformSchema[T]>[],
): Promise<Selectable<PlatformSchema[T]>[]> {
  const [first] = rows
  if (!first) return []
  const columns = sql.join(Object.keys(first).map((name) => sql.ref(name)))
  const added = await sql<Selectable<PlatformSchema[T]>>`
    insert into ${sql.table(table)} (${columns})
    select ${columns} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::json)
    on conflict do nothing
    returning *
  `.execute(trx)
  return added.rows
}
