import { type Kysely, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'

/** A table of an export. */
export type StoredTable = {
  readonly name: string
  /** The exported columns in the order of the table. */
  readonly columns: readonly string[]
  /** The key columns as sort expressions with a fixed collation. */
  readonly order: readonly string[]
  /** The numbered column with its last number (null before the first row); null if the table has none. */
  readonly numbered: { readonly column: string; readonly sequence: string; readonly last: number | null } | null
}

type ColumnRow = {
  readonly table: string
  readonly column: string
  readonly isKey: boolean
  readonly hasCollation: boolean
  readonly sequence: string | null
  readonly last: number | null
}

/**
 * All tables by name, except the ledger of migrations. They are read from the catalogue of PostgreSQL, so that new tables need no change here.
 * Generated columns and transaction ids are left out.
 */
export async function storedTables(db: Kysely<PlatformSchema>): Promise<StoredTable[]> {
  const { rows } = await sql<ColumnRow>`
    select c.relname as table, a.attname as column, a.attcollation <> 0 as "hasCollation",
      coalesce(a.attnum = any (i.indkey), false) as "isKey",
      pg_get_serial_sequence(quote_ident(c.relname), a.attname) as sequence,
      pg_sequence_last_value(pg_get_serial_sequence(quote_ident(c.relname), a.attname)::regclass) as last
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> 'migrations'
      and a.attgenerated = '' and a.atttypid <> 'xid8'::regtype
    order by c.relname collate "C", a.attnum
  `.execute(db)
  return [...Map.groupBy(rows, ({ table }) => table)].map(([name, columns]) => describe(name, columns))
}

/** The names of the applied migrations. */
export async function appliedMigrations(db: Kysely<PlatformSchema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from migrations order by name collate "C"`.execute(db)
  return rows.map(({ name }) => name)
}

/** The name as a quoted SQL identifier. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function describe(name: string, columns: readonly ColumnRow[]): StoredTable {
  const keys = columns.filter(({ isKey }) => isKey)
  const numbered = columns.flatMap(({ column, sequence, last }) =>
    sequence === null ? [] : [{ column, sequence, last }],
  )
  return {
    name,
    columns: columns.map(({ column }) => column),
    order: (keys.length > 0 ? keys : columns).map(
      ({ column, hasCollation }) => `${quoteIdentifier(column)}${hasCollation ? ' collate "C"' : ''}`,
    ),
    numbered: numbered[0] ?? null,
  }
}
