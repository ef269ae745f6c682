import { type Selectable, sql } from 'kysely'
import type { AssetCompact, Device, DeviceExpand } from '../../contract/platform/devices.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { complianceOf, identifiersOf } from './device-compliance.ts'

type Row = Selectable<PlatformSchema['devices']>
type AssetRow = Selectable<PlatformSchema['assets']>

/** What reports the devices of this platform: custom connections only. */
export const deviceSource = 'CUSTOM'

/** These devices in the same order, with what `expand` asks for. */
export async function presentDevices(
  ctx: PlatformContext,
  rows: readonly Row[],
  expand: readonly DeviceExpand[] = [],
): Promise<Device[]> {
  if (rows.length === 0) return []
  const userIds = await userIdsOf(ctx, rows)
  const assets = await assetsOf(ctx, rows)
  const company = expand.includes('asset') ? await companyOf(ctx) : null
  return rows.map((row) => {
    const asset = assets.get(row.id)
    return {
      ...presentDevice(row),
      assetId: asset?.id ?? null,
      userId: userIds.get(row.personnel_id) ?? null,
      ...(company !== null && { asset: asset ? compactAsset(asset, company) : null }),
      ...(expand.includes('complianceChecks') && complianceOf(row)),
      ...(expand.includes('documents') && { documents: [] }),
      ...(expand.includes('identifiers') && { identifiers: identifiersOf(row) }),
    }
  })
}

async function userIdsOf(ctx: PlatformContext, rows: readonly Row[]): Promise<ReadonlyMap<number, number>> {
  const people = await ctx.db
    .selectFrom('personnel')
    .select(['id', 'user_id'])
    .where('account_id', '=', ctx.accountId)
    .where(sql<boolean>`id = any(${rows.map((row) => row.personnel_id)}::bigint[])`)
    .execute()
  return new Map(people.map((person) => [person.id, person.user_id]))
}

async function assetsOf(ctx: PlatformContext, rows: readonly Row[]): Promise<ReadonlyMap<number | null, AssetRow>> {
  const assets = await ctx.db
    .selectFrom('assets')
    .selectAll()
    .where('account_id', '=', ctx.accountId)
    .where(sql<boolean>`device_id = any(${rows.map((row) => row.id)}::bigint[])`)
    .execute()
  return new Map(assets.map((asset) => [asset.device_id, asset]))
}

async function companyOf(ctx: PlatformContext): Promise<string> {
  const { name } = await ctx.db
    .selectFrom('accounts')
    .select('name')
    .where('id', '=', ctx.accountId)
    .executeTakeFirstOrThrow()
  return name
}

function presentDevice(row: Row): Omit<Device, 'assetId' | 'userId'> {
  const explanation = (field: string) => {
    const given = row.explanations[field] ?? null
    return typeof given === 'string' ? { text: given } : given
  }
  return {
    id: row.id,
    osVersion: row.platform_version,
    serialNumber: row.serial_number,
    model: row.model,
    macAddress: row.mac_address,
    lastCheckedAt: row.last_checked_at.toISOString(),
    sourceType: deviceSource,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    deletedAt: null,
    appsCount: row.apps_count,
    screenLockTime: row.screen_lock_time,
    screenLockExplanation: explanation('screenLockExplanation'),
    antivirusEnabled: row.antivirus_enabled,
    antivirusExplanation: explanation('antivirusExplanation'),
    autoUpdateEnabled: row.auto_update_enabled,
    autoUpdateExplanation: explanation('autoUpdateExplanation'),
    passwordManagerEnabled: row.password_manager_enabled,
    passwordManagerExplanation: explanation('passwordManagerExplanation'),
    encryptionEnabled: row.encryption_enabled,
    encryptionExplanation: explanation('encryptionExplanation'),
    firewallEnabled: row.firewall_enabled,
    firewallExplanation: explanation('firewallExplanation'),
    personnelId: row.personnel_id,
    externalId: row.external_id,
  }
}

function compactAsset(row: AssetRow, company: string): AssetCompact {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    assetType: row.asset_type,
    assetProvider: row.provider,
    approvedAt: row.created_at.toISOString(),
    removedAt: row.removed_at?.toISOString() ?? null,
    company,
    notes: row.notes,
    assetReferenceType: 'WORKSTATION',
    uniqueId: row.unique_id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(row.external_id !== null && { externalId: row.external_id }),
    ...(row.external_owner_id !== null && { externalOwnerId: row.external_owner_id }),
  }
}
