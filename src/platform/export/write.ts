import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Kysely, sql } from 'kysely'
import { readRowsBySize } from '../../database/rows-by-size.ts'
import { escapeJson } from '../../text/escape.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type ExportHeader, type ExportSequences, exportFormat, ownSetting } from './header.ts'
import { appliedMigrations, quoteIdentifier, type StoredTable, storedTables } from './stored-tables.ts'

/**
 * Writes a consistent snapshot of all data as one JSON document with a line for each row, and leaves `sink` open. The transaction stays
 * open until the sink has taken everything; on an embedded database all other work waits for it.
 */
export async function writeExport(db: Kysely<PlatformSchema>, sink: Writable, now: Date): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      // A slow reader leaves this transaction idle.
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
      await pipeline(document(trx, now), sink, { end: false })
    })
}

async function* document(trx: Kysely<PlatformSchema>, now: Date): AsyncGenerator<string> {
  const tables = await storedTables(trx)
  const header: ExportHeader = {
    of: 'rollcall-platform',
    format: exportFormat,
    exportedAt: now.toISOString(),
    migrations: await appliedMigrations(trx),
  }
  yield `{"export":${JSON.stringify(header)},\n"sequences":${JSON.stringify(sequencesOf(tables))},\n"tables":{`
  for (const [index, table] of tables.entries()) {
    yield `${index === 0 ? '' : ','}\n${JSON.stringify(table.name)}:[`
    yield* rowsOf(trx, table)
    yield '\n]'
  }
  yield '\n}}\n'
}

function sequencesOf(tables: readonly StoredTable[]): ExportSequences {
  const entries = tables.flatMap(({ name, numbered }) =>
    numbered && numbered.last !== null ? [[`${name}.${numbered.column}`, numbered.last] as const] : [],
  )
  return Object.fromEntries(entries)
}

/** PostgreSQL serializes and later parses the rows itself, so that every type survives. */
async function* rowsOf(trx: Kysely<PlatformSchema>, { name, columns, order }: StoredTable): AsyncGenerator<string> {
  const rowTexts = {
    table: name,
    text: sql`(select to_json(r)::text from (select ${sql.raw(columns.map(quoteIdentifier).join(', '))}) as r)`,
    orderBy: sql.raw(order.join(', ')),
    where: name === 'settings' ? sql`name <> ${sql.lit(ownSetting)}` : undefined,
  }
  let separator = '\n'
  for await (const rows of readRowsBySize(trx, rowTexts)) {
    yield `${separator}${escapeJson(rows.join(',\n'))}`
    separator = ',\n'
  }
}
