import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** The columns of an export, and the column of each field. */
export type SourceHeader = {
  readonly headers: readonly string[]
  readonly columns: Readonly<Partial<Record<string, string>>>
}

const maxColumns = 300
const maxCharacters = 200

/** Stores the columns that a run has read. */
export async function storeHeader(tx: Db, runId: string, { headers, columns }: SourceHeader): Promise<void> {
  const kept = headers.slice(0, maxColumns).map((header) => header.slice(0, maxCharacters))
  await sql`
    insert into source_headers (run_id, headers, columns)
    values (${runId}, ${JSON.stringify(kept)}, ${JSON.stringify(columns)})
    on conflict (run_id) do update set headers = excluded.headers, columns = excluded.columns`.execute(tx)
}

/** The columns that a run has read; null if none. */
export async function headerOf(db: Db, runId: string): Promise<SourceHeader | null> {
  const row = await db
    .selectFrom('source_headers')
    .select(['headers', 'columns'])
    .where('run_id', '=', runId)
    .executeTakeFirst()
  return row ?? null
}
