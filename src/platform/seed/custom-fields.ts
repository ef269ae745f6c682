import { type Kysely, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'
import type { SeedCustomField } from './document.ts'

/** Adds the fields whose names the account has none of yet; returns how many. */
export async function seedCustomFields(
  trx: Kysely<PlatformSchema>,
  { accountId, customFields, now }: { accountId: number; customFields: readonly SeedCustomField[]; now: Date },
): Promise<number> {
  if (customFields.length === 0) return 0
  const known = await trx
    .selectFrom('custom_field_definitions')
    .select('name')
    .where('account_id', '=', accountId)
    .where(sql<boolean>`name = any(${customFields.map(({ name }) => name)}::text[])`)
    .execute()
  const names = new Set(known.map(({ name }) => name))
  const rows = customFields
    .filter(({ name }) => !names.has(name))
    .map(({ name, type, entityTypes, required }) => ({
      account_id: accountId,
      name,
      type,
      entity_types: entityTypes,
      is_required: required,
      created_at: now,
      updated_at: now,
    }))
  if (rows.length > 0) await trx.insertInto('custom_field_definitions').values(rows).execute()
  return rows.length
}
