import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { PlatformSchema } from './schema.ts'

/**
 * Stores the rows whose keys are not taken, in their order and in one statement, and returns them as stored. All rows must have the
 * same columns and JSON values. The rows travel as one JSON parameter because a statement takes at most 65,535 parameters.
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
