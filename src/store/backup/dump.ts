import { sql } from 'kysely'
import { type PieceLimits, readRowsBySize } from '../../database/rows-by-size.ts'
import { Failure } from '../../errors.ts'
import { installationOf } from '../connections/installation.ts'
import type { Db } from '../schema.ts'
import { type BackupHeader, type BackupLine, type BackupTable, backupFormat } from './format.ts'

/** Tables about running processes, indexes that are rebuilt, and the ledger of migrations, which the header has. */
const excludedTables = [
  'leases',
  'request_budget',
  'migrations',
  'export_indexes',
  'export_index_parts',
  'changed_people',
]

type DumpOptions = {
  readonly version: string
  readonly now: Date
  readonly pieces?: PieceLimits
}

/** Passes everything in the store to `take`, as of one moment. An embedded store has one connection, so its other queries wait until the dump is complete. */
export async function dumpStore(
  db: Db,
  { version, now, pieces = {} }: DumpOptions,
  take: (line: BackupLine) => Promise<void>,
): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      await take({ kind: 'header', header: await headerOf(tx, { version, now }) })
      for (const name of await tablesInOrder(tx)) {
        const table = await tableOf(tx, name)
        await take({ kind: 'table', table })
        const values = table.columns.map((column) => sql`${sql.ref(column.name)}::text`)
        const text = sql`json_build_array(${sql.join(values)})::text`
        for await (const rows of readRowsBySize(tx, { table: name, text }, pieces)) await take({ kind: 'rows', rows })
      }
    })
}

async function headerOf(tx: Db, { version, now }: { version: string; now: Date }): Promise<BackupHeader> {
  const installation = await installationOf(tx)
  if (!installation) throw new Failure('conflict', 'nothing was kept in this store yet: there is nothing to back up')
  const { rows: migrations } = await sql<{ name: string; sha256: string }>`
    select name, sha256 from migrations order by applied_at, name`.execute(tx)
  return {
    rollcall: 'backup',
    format: backupFormat,
    version,
    installation: installation.id,
    madeAt: now.toISOString(),
    migrations,
  }
}

/** All tables, each after those that it references. */
async function tablesInOrder(tx: Db): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema() and tablename <> all(${excludedTables})
    order by tablename`.execute(tx)
  const { rows: references } = await sql<{ from: string; to: string }>`
    select conrelid::regclass::text as from, confrelid::regclass::text as to from pg_constraint
    where contype = 'f' and connamespace = current_schema()::regnamespace and conrelid <> confrelid`.execute(tx)
  const ordered: string[] = []
  const remaining = new Set(tables.map(({ name }) => name))
  while (remaining.size > 0) {
    const next = [...remaining].filter((name) => !references.some(({ from, to }) => from === name && remaining.has(to)))
    if (next.length === 0) throw new Error(`the tables ${[...remaining].join(', ')} refer to one another in a circle`)
    for (const name of next) remaining.delete(name)
    ordered.push(...next)
  }
  return ordered
}

/** Describes a table as a backup lists it. */
export async function tableOf(tx: Db, table: string): Promise<BackupTable> {
  const { rows } = await sql<{ name: string; type: string; counter: string | null }>`
    select attname as name, format_type(atttypid, atttypmod) as type,
      case when attidentity <> '' then pg_get_serial_sequence(${table}, attname) end as counter
    from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`.execute(
    tx,
  )
  const counters: { column: string; last: string; isCalled: boolean }[] = []
  for (const { name, counter } of rows) {
    if (counter === null) continue
    const { rows: states } = await sql<{ last: string; isCalled: boolean }>`
      select last_value::text as last, is_called as "isCalled" from ${sql.raw(counter)}`.execute(tx)
    for (const { last, isCalled } of states) counters.push({ column: name, last, isCalled })
  }
  return { table, columns: rows.map(({ name, type }) => ({ name, type })), counters }
}
