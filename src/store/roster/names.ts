import { type RawBuilder, sql } from 'kysely'
import type { FieldName } from '../../identity/record.ts'
import type { Db } from '../schema.ts'

/** In SQL, a desired value; null if there is none. */
export function desiredValue(field: FieldName): RawBuilder<string | null> {
  return sql`roster.desired ->> ${field}::text`
}

/** In SQL, the name of a person from these fields; null if all are empty. */
export function desiredName(fields: readonly FieldName[] = ['firstName', 'lastName']): RawBuilder<string | null> {
  return sql`nullif(concat_ws(' ', ${sql.join(fields.map(desiredValue))}), '')`
}

type NameQuery = {
  readonly connection: string
  readonly keys: readonly string[]
  readonly fields?: readonly FieldName[]
}

/** The names of people by key, as HR states them. People without a name are left out. */
export async function namesByKey(db: Db, { connection, keys, fields }: NameQuery): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map()
  const { rows } = await sql<{ key: string; name: string | null }>`
    select identity_id as key, ${desiredName(fields)} as name from roster
    where connection = ${connection} and identity_id = any(${keys})`.execute(db)
  return new Map(rows.flatMap(({ key, name }) => (name === null ? [] : [[key, name] as const])))
}
