import { type Kysely, type Selectable, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'
import { insertClasses } from './asset-classes.ts'

type Row = Selectable<PlatformSchema['devices']>

/** Gives a new device its asset. */
export async function insertDeviceAsset(trx: Kysely<PlatformSchema>, device: Row, ownerId: number): Promise<void> {
  const asset = await trx
    .insertInto('assets')
    .values({
      ...describe(device, ownerId),
      account_id: device.account_id,
      device_id: device.id,
      asset_type: 'PHYSICAL',
      provider: 'DRATA',
      created_at: device.created_at,
      updated_at: device.created_at,
    })
    .returning(['id', 'account_id'])
    .executeTakeFirstOrThrow()
  await insertClasses(trx, asset, ['HARDWARE'], device.created_at)
}

/** Carries a change of the device over to its asset. What a person wrote into the asset stays if the device says the same as before. */
export async function followDevice(
  trx: Kysely<PlatformSchema>,
  { before, after, ownerId, now }: { before: Row; after: Row; ownerId: number; now: Date },
): Promise<void> {
  const isMoved = before.personnel_id !== after.personnel_id
  const [was, is] = [describe(before, ownerId), describe(after, ownerId)]
  const changed = {
    ...(is.name !== was.name && { name: is.name }),
    ...(is.description !== was.description && { description: is.description }),
    ...(is.associated_id !== was.associated_id && { associated_id: is.associated_id }),
    ...(isMoved && { owner_id: ownerId }),
  }
  if (Object.keys(changed).length === 0) return
  await trx
    .updateTable('assets')
    .set({
      ...changed,
      updated_at: sql`greatest(updated_at, ${now}::timestamptz)`,
      changed_in: sql`pg_current_xact_id()`,
    })
    .where('device_id', '=', after.id)
    .execute()
}

function describe(device: Row, ownerId: number) {
  return {
    name: device.alias || device.model || device.serial_number || device.platform_name,
    description: `${device.platform_name} ${device.platform_version}`,
    associated_id: device.serial_number,
    owner_id: ownerId,
  }
}
