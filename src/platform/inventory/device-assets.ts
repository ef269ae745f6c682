import type { Kysely, Selectable } from 'kysely'
import { changedAt } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { insertClasses } from './asset-classes.ts'

type Row = Selectable<PlatformSchema['devices']>

/** Creates the asset of a new device. */
export async function insertDeviceAsset(trx: Kysely<PlatformSchema>, device: Row, ownerId: number): Promise<void> {
  const asset = await trx
    .insertInto('assets')
    .values({
      ...describe(device),
      owner_id: ownerId,
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

type DeviceChange = { readonly before: Row; readonly after: Row; readonly ownerId: number; readonly now: Date }

/** Copies what changed on the device to its asset. Other fields of the asset keep what a person wrote there. */
export async function followDevice(
  trx: Kysely<PlatformSchema>,
  { before, after, ownerId, now }: DeviceChange,
): Promise<void> {
  const isMoved = before.personnel_id !== after.personnel_id
  const old: Readonly<Record<string, string | null>> = describe(before)
  const changed = Object.entries(describe(after)).filter(([column, value]) => value !== old[column])
  if (changed.length === 0 && !isMoved) return
  await trx
    .updateTable('assets')
    .set({ ...Object.fromEntries(changed), owner_id: isMoved ? ownerId : undefined, ...changedAt(now) })
    .where('device_id', '=', after.id)
    .execute()
}

function describe(device: Row) {
  return {
    name: device.alias || device.model || device.serial_number || device.platform_name,
    description: `${device.platform_name} ${device.platform_version}`,
    associated_id: device.serial_number,
  }
}
