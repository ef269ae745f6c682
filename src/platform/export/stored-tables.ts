import { type Kysely, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'

/** A table of the platform as an export holds it. */
export type StoredTable = {
  readonly name: string
  /** What a row consists of, in the table's order. */
  readonly columns: readonly string[]
  /** The columns that identify a row, each as an expression to sort by that means the same in every database. */
  readonly order: readonly string[]
  /** The column that the database numbers, with the last number given; null where no row ever had one. */
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
 * All tables but the ledger of migrations, by name, read from the catalogue: a table of a later migration is there by itself.
 * Left out are columns that the database computes and those that name its own transactions, which mean nothing elsewhere.
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

/** The names of the migrations that made the tables. */
export async function appliedMigrations(db: Kysely<PlatformSchema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from migrations order by name collate "C"`.execute(db)
  return rows.map(({ name }) => name)
}

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
