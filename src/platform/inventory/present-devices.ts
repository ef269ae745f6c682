import type { Selectable } from 'kysely'
import type { AssetCompact, Device, DeviceExpand } from '../../contract/platform/devices.ts'
import type { PlatformContext } from '../core/context.ts'
import { presentRows } from '../core/present-rows.ts'
import { anyOf, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type DocumentRow, documentsOf, presentDocument } from '../documents/documents.ts'
import { complianceOf, identifiersOf } from './device-compliance.ts'

type Row = Selectable<PlatformSchema['devices']>
type AssetRow = Selectable<PlatformSchema['assets']>

/** The source of all devices here: only custom connections report devices. */
export const deviceSource = 'CUSTOM'

/** The devices in the order of `rows`, with the requested expansions. */
export async function presentDevices(
  ctx: PlatformContext,
  rows: readonly Row[],
  expand: readonly DeviceExpand[] = [],
): Promise<Device[]> {
  if (rows.length === 0) return []
  const userIds = await userIdsOf(ctx, rows)
  const assets = await assetsOf(ctx, rows)
  const documents = await documentsFor(ctx, rows, expand)
  const documentsBy = ({ id }: Row) => documents.get(id) ?? []
  const present = (row: Row) => ({
    ...presentDevice(row),
    assetId: assets.get(row.id)?.id ?? null,
    userId: userIds.get(row.personnel_id) ?? null,
  })
  const loaders = {
    asset: async () => {
      const company = await companyOf(ctx)
      return ({ id }: Row) => compactAsset(assets.get(id), company)
    },
    complianceChecks: async () => (row: Row) => complianceOf(row, documentsBy(row)).complianceChecks,
    isDeviceCompliant: async () => (row: Row) => complianceOf(row, documentsBy(row)).isDeviceCompliant,
    documents: async () => (row: Row) => documentsBy(row).map((document) => presentDocument(ctx, document)),
    identifiers: async () => identifiersOf,
  }
  // The contract adds the result to the checks.
  const requested = expand.includes('complianceChecks') ? [...expand, 'isDeviceCompliant'] : expand
  return presentRows(rows, { present, expand: requested, loaders })
}

async function userIdsOf(ctx: PlatformContext, rows: readonly Row[]): Promise<ReadonlyMap<number, number>> {
  const people = await ctx.db
    .selectFrom('personnel')
    .select(['id', 'user_id'])
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', anyOf(rows.map((row) => row.personnel_id)))
    .execute()
  return new Map(people.map((person) => [person.id, person.user_id]))
}

async function assetsOf(ctx: PlatformContext, rows: readonly Row[]): Promise<ReadonlyMap<number | null, AssetRow>> {
  const assets = await ctx.db
    .selectFrom('assets')
    .selectAll()
    .where('account_id', '=', ctx.accountId)
    .where('device_id', '=', anyOf(rows.map((row) => row.id)))
    .execute()
  return new Map(assets.map((asset) => [asset.device_id, asset]))
}

async function documentsFor(
  ctx: PlatformContext,
  rows: readonly Row[],
  expand: readonly DeviceExpand[],
): Promise<ReadonlyMap<number | null, DocumentRow[]>> {
  if (!expand.includes('documents') && !expand.includes('complianceChecks')) return new Map()
  const documents = await documentsOf(
    ctx.db,
    'device_id',
    rows.map(({ id }) => id),
  )
  return Map.groupBy(documents, (document) => document.device_id)
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
    const stored = row.explanations[field] ?? null
    return typeof stored === 'string' ? { text: stored } : stored
  }
  return {
    id: row.id,
    osVersion: row.platform_version,
    serialNumber: row.serial_number,
    model: row.model,
    macAddress: row.mac_address,
    lastCheckedAt: row.last_checked_at.toISOString(),
    sourceType: deviceSource,
    ...presentTimes(row),
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

function compactAsset(row: AssetRow | undefined, company: string): AssetCompact | null {
  if (!row) return null
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
    ...presentTimes(row),
    externalId: row.external_id ?? undefined,
    externalOwnerId: row.external_owner_id ?? undefined,
  }
}
