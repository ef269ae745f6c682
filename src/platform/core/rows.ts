import { sql } from 'kysely'

/** The columns that every update of a listed row sets: `updated_at`, which never goes back, and the writing transaction. */
export function changedAt(now: Date) {
  return {
    updated_at: sql<Date>`greatest(updated_at, ${now}::timestamptz)`,
    changed_in: sql<never>`pg_current_xact_id()`,
  }
}

/** When a row was created and last changed, as responses carry it. */
export function presentTimes(row: { readonly created_at: Date; readonly updated_at: Date }) {
  return { createdAt: row.created_at.toISOString(), updatedAt: row.updated_at.toISOString() }
}

/** The operand of `column = any(ids)`, as one parameter. */
export function anyOf(ids: readonly (number | null)[]) {
  return sql<number>`any(${ids}::bigint[])`
}

/** The presented rows of each key, in the order of `rows`. */
export function groupRows<Row, Key, Value>(
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
  present: (row: Row) => Value,
): ReadonlyMap<Key, Value[]> {
  return new Map([...Map.groupBy(rows, keyOf)].map(([key, group]) => [key, group.map(present)]))
}
