import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { foreignHistory, type Migration, migrationDigest } from '../../database/migrate.ts'
import { Failure } from '../../errors.ts'
import { migrations } from '../migrations/index.ts'
import type { Db } from '../schema.ts'
import { refuseOthersAtWork } from '../workers/leases.ts'
import { tableOf } from './dump.ts'
import type { BackupHeader, BackupLine, BackupTable } from './format.ts'

/** Refuses a backup that this version cannot migrate, with `config_invalid`. */
export function refuseOtherVersion({ migrations: applied, version }: BackupHeader, from: string): void {
  const foreign = foreignHistory(applied, migrations)
  if (foreign) throw new Failure('config_invalid', `the backup ${from} of version ${version} ${foreign}`)
}

/**
 * Replaces the content of the store by a backup, in the transaction of the caller, and migrates it to this version. Refused while other
 * processes work on the store.
 */
export async function loadStore(tx: Db, lines: AsyncIterable<BackupLine>, steps = migrations): Promise<void> {
  await refuseOthersAtWork(tx)
  let table: BackupTable | null = null
  let later = steps
  for await (const line of lines) {
    switch (line.kind) {
      case 'header': {
        const applied = new Set(line.header.migrations.map(({ name }) => name))
        later = steps.filter(({ name }) => !applied.has(name))
        await dropEverything(tx)
        await apply(
          tx,
          steps.filter(({ name }) => applied.has(name)),
        )
        break
      }
      case 'table':
        table = line.table
        await refuseOtherColumns(tx, table)
        for (const { column, last, isCalled } of table.counters)
          await sql`select setval(pg_get_serial_sequence(${table.table}, ${column}), ${last}::bigint, ${isCalled})`.execute(
            tx,
          )
        break
      case 'rows':
        if (table) await insert(tx, table, line.rows)
        break
      default:
        return line satisfies never
    }
  }
  await apply(tx, later)
}

/** Names and types of columns become part of statements, so a forged backup must not bring its own. */
async function refuseOtherColumns(tx: Db, { table, columns }: BackupTable): Promise<void> {
  const { rows } = await sql<{ isThere: boolean }>`
    select to_regclass(quote_ident(${table})) is not null as "isThere"`.execute(tx)
  if (rows[0]?.isThere && isDeepStrictEqual((await tableOf(tx, table)).columns, columns)) return
  throw new Failure('source_unreadable', 'the backup is damaged: its tables are not those of the version that it names')
}

/** The ledger stays, without its entries. */
async function dropEverything(tx: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema() and tablename <> 'migrations'`.execute(
    tx,
  )
  if (rows.length > 0) await sql`drop table ${sql.join(rows.map(({ name }) => sql.table(name)))} cascade`.execute(tx)
  await sql`delete from migrations`.execute(tx)
}

async function apply(tx: Db, steps: readonly Migration[]): Promise<void> {
  for (const migration of steps) {
    await sql.raw(migration.sql).execute(tx)
    await sql`
      insert into migrations (name, sha256, applied_at)
      values (${migration.name}, ${migrationDigest(migration)}, clock_timestamp())`.execute(tx)
  }
}

async function insert(tx: Db, { table, columns }: BackupTable, rows: readonly string[]): Promise<void> {
  const names = columns.map(({ name }) => sql.ref(name))
  const values = columns.map(({ type }, at) => sql`(line ->> ${sql.lit(at)})::${sql.raw(type)}`)
  await sql`
    insert into ${sql.table(table)} (${sql.join(names)}) overriding system value
    select ${sql.join(values)} from json_array_elements(${`[${rows.join(',')}]`}::json) as lines(line)`.execute(tx)
}
