import { type Selectable, sql } from 'kysely'
import type { Asset, AssetExpand, AssetReferenceType } from '../../contract/platform/assets.ts'
import type { Device, DeviceExpand } from '../../contract/platform/devices.ts'
import { customFieldsOf } from '../company/custom-fields.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { fullUsers } from '../people/users.ts'
import { classesOf } from './asset-classes.ts'
import { presentDevices } from './present-devices.ts'

type Row = Selectable<PlatformSchema['assets']>

/** The expansions that bring the device along, with what each of them fills in there. */
const deviceExpansions: Partial<Record<AssetExpand, readonly DeviceExpand[]>> = {
  device: [],
  complianceChecks: ['complianceChecks'],
  identifiers: ['identifiers'],
}

/** These assets in the same order, with what `expand` asks for. */
export async function presentAssets(
  ctx: PlatformContext,
  rows: readonly Row[],
  expand: readonly AssetExpand[] = [],
): Promise<Asset[]> {
  const customFields = expand.includes('customFields') ? await customFieldsOf(ctx, 'ASSET', rows) : null
  const classes = expand.includes('assetClassTypes') ? await classesOf(ctx.db, rows) : null
  const ownerIds = rows.map((row) => row.owner_id)
  const owners = expand.includes('owner') ? await fullUsers(ctx, ownerIds) : null
  const inDevice = expand.flatMap((extra) => deviceExpansions[extra] ?? [])
  const devices = expand.some((extra) => extra in deviceExpansions) ? await devicesOf(ctx, rows, inDevice) : null
  return rows.map((row) => ({
    ...presentAsset(row),
    ...(classes && { assetClassTypes: classes.get(row.id) ?? [] }),
    ...(owners && { owner: owners.get(row.owner_id) }),
    device: devices?.get(row.device_id) ?? null,
    ...(customFields && { customFields: customFields.get(row.id) ?? [] }),
  }))
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
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
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
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    externalId: row.external_id,
    externalOwnerId: row.external_owner_id,
  }
}

function referenceTypeOf({ device_id, asset_type }: Row): AssetReferenceType {
  if (device_id !== null) return 'WORKSTATION'
  return asset_type === 'VIRTUAL' ? 'VIRTUAL' : 'OTHER'
}
