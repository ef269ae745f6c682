import { type Kysely, sql } from 'kysely'
import { DatabaseError } from 'pg'
import { foreignHistory } from '../../database/migrate.ts'
import { Failure } from '../../errors.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { migrations } from '../migrations/index.ts'
import { type ExportHeader, type ExportSequences, ownSetting } from './header.ts'
import { readExport } from './read.ts'
import { quoteIdentifier, type StoredTable, storedTables } from './stored-tables.ts'

type ImportResult = { readonly tables: number; readonly rows: number }

type Transaction = Kysely<PlatformSchema>
type ForeignKey = { readonly table: string; readonly name: string; readonly definition: string }

const batchRows = 1000
const batchBytes = 2 * 1024 * 1024

/**
 * Imports an export into an empty platform, in one transaction. A source that is broken, truncated or of another version changes nothing.
 * Fails with `conflict` if the platform has accounts.
 */
export async function importPlatform(
  db: Kysely<PlatformSchema>,
  source: AsyncIterable<Uint8Array>,
): Promise<ImportResult> {
  return db.transaction().execute(async (trx) => {
    await refuseAccounts(trx)
    const tables = await storedTables(trx)
    // Without foreign keys the rows can come in any order. Adding the keys again checks all rows.
    const foreignKeys = await dropForeignKeys(trx)
    await emptyTables(trx, tables)
    const { rows, sequences } = await insertAll(trx, tables, source)
    await rethrowRowErrors(() => setForeignKeys(trx, foreignKeys))
    // PGlite has no autovacuum, which would analyze the tables.
    await sql`analyze ${sql.join(tables.map(({ name }) => sql.table(name)))}`.execute(trx)
    await setSequences(trx, tables, sequences)
    return { tables: tables.length, rows }
  })
}

async function refuseAccounts(trx: Transaction): Promise<void> {
  await sql`lock table accounts in access exclusive mode`.execute(trx)
  const account = await trx.selectFrom('accounts').select('id').limit(1).executeTakeFirst()
  if (account)
    throw new Failure(
      'conflict',
      'the platform has accounts already; an import takes an empty one, such as a new --database',
    )
}

async function dropForeignKeys(trx: Transaction): Promise<ForeignKey[]> {
  const { rows } = await sql<ForeignKey>`
    select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace
    order by 1, 2
  `.execute(trx)
  for (const { table, name } of rows) await sql.raw(`alter table ${table} drop constraint ${name}`).execute(trx)
  return rows
}

async function setForeignKeys(trx: Transaction, foreignKeys: readonly ForeignKey[]): Promise<void> {
  for (const { table, name, definition } of foreignKeys)
    await sql.raw(`alter table ${table} add constraint ${name} ${definition}`).execute(trx)
}

/** Deletes rows that exist without an account, for example those of a migration: the export has them too. */
async function emptyTables(trx: Transaction, tables: readonly StoredTable[]): Promise<void> {
  const others = tables.filter(({ name }) => name !== 'settings').map(({ name }) => sql.table(name))
  await sql`truncate ${sql.join(others)} restart identity`.execute(trx)
  await trx.deleteFrom('settings').where('name', '<>', ownSetting).execute()
}

async function insertAll(
  trx: Transaction,
  tables: readonly StoredTable[],
  source: AsyncIterable<Uint8Array>,
): Promise<{ rows: number; sequences: ExportSequences }> {
  const batch = createBatch(trx, tables)
  const missing = new Set(tables.map(({ name }) => name))
  let header: ExportHeader | null = null
  let sequences: ExportSequences | null = null
  for await (const parts of readExport(source)) {
    for (const part of parts) {
      switch (part.kind) {
        case 'header':
          header = part.header
          refuseOtherMigrations(header)
          break
        case 'sequences':
          sequences = part.sequences
          break
        case 'table':
          missing.delete(part.table)
          break
        case 'row':
          if (header === null) throw invalidExport('its header does not come first')
          await batch.add(part.table, part.row)
          break
        default:
          return part satisfies never
      }
    }
  }
  const rows = await batch.end()
  if (header === null || sequences === null) throw invalidExport('its header is missing')
  if (missing.size > 0) throw invalidExport(`it lacks ${[...missing].join(', ')}`)
  return { rows, sequences }
}

function refuseOtherMigrations(header: ExportHeader): void {
  const foreign = foreignHistory(
    header.migrations.map((name) => ({ name })),
    migrations,
  )
  if (foreign) throw new Failure('config_invalid', `the export ${foreign}`)
  const lacking = migrations.find(({ name }) => !header.migrations.includes(name))
  if (lacking)
    throw new Failure(
      'config_invalid',
      `the platform that was exported is older than this one, by "${lacking.name}"; import with the version that wrote the export, then start the newer one`,
    )
}

/** Collects the rows of a table and inserts them many at a time. */
function createBatch(trx: Transaction, tables: readonly StoredTable[]) {
  const known = new Map(tables.map((table) => [table.name, table]))
  let current: StoredTable | null = null
  let texts: string[] = []
  let bytes = 0
  let inserted = 0

  const flush = async () => {
    if (current === null || texts.length === 0) return
    const table = current
    const json = `[${texts.join(',')}]`
    await rethrowRowErrors(() => insert(trx, table, json))
    inserted += texts.length
    texts = []
    bytes = 0
  }

  return {
    async add(name: string, row: unknown): Promise<void> {
      if (current?.name !== name) {
        await flush()
        current = known.get(name) ?? null
        if (current === null) throw invalidExport(`it has a table "${name}"`)
      }
      const text = JSON.stringify(rowOf(current, row))
      texts.push(text)
      bytes += text.length
      if (texts.length >= batchRows || bytes >= batchBytes) await flush()
    },
    async end(): Promise<number> {
      await flush()
      return inserted
    },
  }
}

function rowOf({ name, columns }: StoredTable, row: unknown): unknown {
  const keys = typeof row === 'object' && row !== null ? Object.keys(row) : []
  if (keys.length === columns.length && columns.every((column) => keys.includes(column))) return row
  throw invalidExport(`a row of ${name} has other columns`)
}

async function insert(trx: Transaction, { name, columns }: StoredTable, json: string): Promise<void> {
  const list = sql.raw(columns.map(quoteIdentifier).join(', '))
  await sql`
    insert into ${sql.table(name)} (${list}) overriding system value
    select ${list} from json_populate_recordset(null::${sql.table(name)}, ${json}::json)
  `.execute(trx)
}

// Sequences are not transactional: they come last, when nothing can fail.
async function setSequences(
  trx: Transaction,
  tables: readonly StoredTable[],
  sequences: ExportSequences,
): Promise<void> {
  for (const { name, numbered } of tables) {
    if (numbered === null) continue
    const last = sequences[`${name}.${numbered.column}`] ?? 0
    await sql`
      select setval(${numbered.sequence}::regclass, n) from
        (select greatest(${last}::bigint, max(${sql.ref(numbered.column)})) as n from ${sql.table(name)}) as last where n > 0
    `.execute(trx)
  }
}

/** Turns errors about the rows into a failure of the file. The message of PostgreSQL would quote personal data. */
async function rethrowRowErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof DatabaseError) || !/^2[23]/.test(error.code ?? '')) throw error
    const where = [error.table, error.column, error.constraint].filter((part) => part !== undefined).join(', ')
    throw invalidExport(`its rows do not fit the tables (${[error.code, where].filter(Boolean).join(': ')})`, error)
  }
}

function invalidExport(reason: string, cause?: unknown): Failure {
  return new Failure('config_invalid', `this is no export that this platform can take: ${reason}`, { cause })
}
