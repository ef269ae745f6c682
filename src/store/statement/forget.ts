import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { forgottenKey } from './key-digest.ts'

type ForgottenKeys = { readonly connection: string; readonly keys: readonly string[] }

/** Replaces the keys of a forgotten person in all statements by digests. The counts stay as they are. */
export async function forgetInStatements(tx: Db, { connection, keys }: ForgottenKeys): Promise<void> {
  const digest = (key: string) => forgottenKey({ connection, key: sql`${key}::text` })
  for (const key of keys) {
    await sql`
      update accounted_people set identity_id = ${digest(key)}
      where connection = ${connection} and identity_id = ${key}`.execute(tx)
    await sql`
      update statements set content = jsonb_set(content::jsonb, '{unaccounted}', (
        select coalesce(jsonb_agg(case when named = ${key} then ${digest(key)} else named end), '[]')
        from jsonb_array_elements_text(content::jsonb -> 'unaccounted') named))::json
      where connection = ${connection} and content::jsonb -> 'unaccounted' ? ${key}`.execute(tx)
  }
}

/** Removes the parts of people that no kept statement has. */
export async function removeUnstatedParts(db: Db): Promise<void> {
  await sql`
    delete from accounted_people using (select connection, min(id) as first from statements group by connection) kept
    where accounted_people.connection = kept.connection and accounted_people.until <= kept.first`.execute(db)
}
