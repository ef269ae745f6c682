/** The key that the database numbers. */
export const id = 'id bigint generated always as identity primary key'

/** The random key under which the API shows a row. */
export const uuid = 'uuid uuid not null unique default gen_random_uuid()'

/** When a row was created and last changed. */
export const times = `created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null`

/** The times, and the transaction that last wrote the row: a list in descending order of `updated_at` finds by it what changed meanwhile. */
export const listed = `${times},
  changed_in xid8 not null default pg_current_xact_id()`

/** A foreign key to `table`; the row is deleted with the one that it refers to. */
export function belongsTo(table: string): string {
  return `bigint not null references ${table} on delete cascade`
}

/** The indexes of a list, by creation and by change, within the rows that have equal `columns`. */
export function listIndexes(name: string, table: string, columns: string): string {
  return `create index ${name}_created on ${table} (${columns}, created_at, id);
create index ${name}_updated on ${table} (${columns}, updated_at, id);`
}

/** A column and the table that it refers to. */
type Reference = readonly [column: string, table: string]

/** A table of pairs: rows of two other tables that belong together, found from either side. */
export function pairTable(table: string, [first, firstTable]: Reference, [second, secondTable]: Reference): string {
  return `create table ${table} (
  ${first} ${belongsTo(firstTable)},
  ${second} ${belongsTo(secondTable)},
  primary key (${first}, ${second})
);
create index ${table}_reverse on ${table} (${second}, ${first});`
}
