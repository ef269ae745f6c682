import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../src/store/schema.ts'

/** Has the database refuse to write some rows, as "refused", until the trigger "refused" is dropped. */
export async function refuse(
  db: Db,
  operation: 'insert on slots' | 'insert on runs' | 'update on runs' | 'update on deliveries',
  rows: RawBuilder<unknown>,
): Promise<void> {
  await sql`create or replace function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(
    db,
  )
  await sql`create trigger refused before ${sql.raw(operation)} for each row when (${rows}) execute function refuse()`.execute(
    db,
  )
}
