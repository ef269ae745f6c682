import type { ClassifiedValue, Meaning } from '../identity/mapping/classified.ts'
import type { ListedField } from '../identity/record.ts'
import type { Db } from './schema.ts'

/** A value of a status with the meaning that an operator gave it. */
export type ClassifiedValueEntry = ClassifiedValue & { readonly by: string; readonly classifiedAt: Date }

/** Lists the classified values of a connection, by field and value. */
export async function listClassifiedValues(db: Db, connection: string): Promise<ClassifiedValueEntry[]> {
  const rows = await db
    .selectFrom('classified_values')
    .selectAll()
    .where('connection', '=', connection)
    .orderBy('field')
    .orderBy('value')
    .execute()
  return rows.map(({ field, value, meaning, classified_by, classified_at }) => ({
    field: field as ListedField,
    value,
    meaning: meaning as Meaning,
    by: classified_by,
    classifiedAt: classified_at,
  }))
}

type NewClassifiedValue = ClassifiedValue & {
  readonly connection: string
  readonly by: string
  readonly now: Date
}

/** Stores the meaning of a value, and replaces an earlier one. */
export async function storeClassifiedValue(
  db: Db,
  { connection, field, value, meaning, by, now }: NewClassifiedValue,
): Promise<void> {
  await db
    .insertInto('classified_values')
    .values({ connection, field, value, meaning, classified_by: by, classified_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['connection', 'field', 'value'])
        .doUpdateSet({ meaning, classified_by: by, classified_at: now }),
    )
    .execute()
}
