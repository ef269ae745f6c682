import { type Kysely, sql } from 'kysely'
import type { AssetClass, AssetClassType } from '../../contract/platform/assets.ts'
import { anyOf, groupRows, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

type AssetKey = { readonly id: number; readonly account_id: number }

/** The classes of these assets by asset id. */
export async function classesOf(
  db: Kysely<PlatformSchema>,
  assets: readonly { readonly id: number }[],
): Promise<ReadonlyMap<number, AssetClass[]>> {
  const rows = await db
    .selectFrom('asset_class_types')
    .selectAll()
    .where('asset_id', '=', anyOf(assets.map(({ id }) => id)))
    .orderBy('id')
    .execute()
  return groupRows(
    rows,
    (row) => row.asset_id,
    (row) => ({ id: row.id, assetClassType: row.class_type, ...presentTimes(row) }),
  )
}

/** Adds the classes that the asset lacks; returns whether it added any. */
export async function insertClasses(
  trx: Kysely<PlatformSchema>,
  asset: AssetKey,
  classes: readonly AssetClassType[],
  now: Date | string,
): Promise<boolean> {
  if (classes.length === 0) return false
  const rows = [...new Set(classes)].map((type) => ({
    account_id: asset.account_id,
    asset_id: asset.id,
    class_type: type,
    created_at: now,
    updated_at: now,
  }))
  const added = await trx
    .insertInto('asset_class_types')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['asset_id', 'class_type']).doNothing())
    .returning('id')
    .execute()
  return added.length > 0
}

/** Replaces the classes of the asset; those that stay keep their ids. Returns whether anything changed. */
export async function replaceClasses(
  trx: Kysely<PlatformSchema>,
  asset: AssetKey,
  classes: readonly AssetClassType[],
  now: Date,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('asset_class_types')
    .where('asset_id', '=', asset.id)
    .where(sql<boolean>`class_type <> all(${classes}::text[])`)
    .executeTakeFirstOrThrow()
  const hasAdded = await insertClasses(trx, asset, classes, now)
  return hasAdded || numDeletedRows > 0n
}
