import type { Selectable } from 'kysely'
import type { Asset, AssetExpand, AssetReferenceType } from '../../contract/platform/assets.ts'
import type { Device, DeviceExpand } from '../../contract/platform/devices.ts'
import { customFieldsOf } from '../company/custom-fields.ts'
import type { PlatformContext } from '../core/context.ts'
import { listById, presentRows } from '../core/present-rows.ts'
import { anyOf, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { fullUsers } from '../people/users.ts'
import { classesOf } from './asset-classes.ts'
import { presentDevices } from './present-devices.ts'

type Row = Selectable<PlatformSchema['assets']>

/** The expansions that include the device, each with the expansions of the device itself. */
const deviceExpansions: Partial<Record<AssetExpand, readonly DeviceExpand[]>> = {
  device: [],
  complianceChecks: ['complianceChecks'],
  identifiers: ['identifiers'],
}

/** The assets in the order of `rows`, with the requested expansions. */
export async function presentAssets(
  ctx: PlatformContext,
  rows: readonly Row[],
  expand: readonly AssetExpand[] = [],
): Promise<Asset[]> {
  const ownerIds = rows.map((row) => row.owner_id)
  const loaders = {
    customFields: async () => listById(await customFieldsOf(ctx, 'ASSET', rows)),
    assetClassTypes: async () => listById(await classesOf(ctx.db, rows)),
    owner: async () => {
      const owners = await fullUsers(ctx, ownerIds)
      return (row: Row) => owners.get(row.owner_id)
    },
  }
  const inDevice = expand.flatMap((extra) => deviceExpansions[extra] ?? [])
  const devices = expand.some((extra) => extra in deviceExpansions) ? await devicesOf(ctx, rows, inDevice) : null
  const present = (row: Row) => ({ ...presentAsset(row), device: devices?.get(row.device_id) ?? null })
  return presentRows(rows, { present, expand, loaders })
}

async function devicesOf(
  ctx: PlatformContext,
  assets: readonly Row[],
  expand: readonly DeviceExpand[],
): Promise<ReadonlyMap<number | null, Device>> {
  const ids = assets.flatMap(({ device_id }) => device_id ?? [])
  const rows = await ctx.db
    .selectFrom('devices')
    .selectAll()
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', anyOf(ids))
    .execute()
  const devices = await presentDevices(ctx, rows, expand)
  return new Map(devices.map((device) => [device.id, device]))
}

function presentAsset(row: Row): Omit<Asset, 'device'> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    assetType: row.asset_type,
    assetProvider: row.provider,
    removedAt: row.removed_at?.toISOString() ?? null,
    notes: row.notes,
    assetReferenceType: referenceTypeOf(row),
    associatedId: row.associated_id,
    ...presentTimes(row),
    externalId: row.external_id,
    externalOwnerId: row.external_owner_id,
  }
}

function referenceTypeOf({ device_id, asset_type }: Row): AssetReferenceType {
  if (device_id !== null) return 'WORKSTATION'
  return asset_type === 'VIRTUAL' ? 'VIRTUAL' : 'OTHER'
}
