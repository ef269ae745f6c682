import { isDeepStrictEqual } from 'node:util'
import { type Kysely, type Selectable, sql, type Updateable } from 'kysely'
import { maxLongTextLength } from '../../contract/platform/common.ts'
import type { DeviceUpload, Explanation } from '../../contract/platform/devices.ts'
import { Refusal } from '../../http/refusal.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformContext } from '../core/context.ts'
import { changedAt } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableJson } from '../core/storable-json.ts'
import { recordEvent } from '../events/store-events.ts'
import { findPerson } from '../people/personnel.ts'
import { followDevice, insertDeviceAsset } from './device-assets.ts'

type Row = Selectable<PlatformSchema['devices']>
/** The reported values by column. */
type Values = Pick<Row, 'personnel_id' | 'platform_name' | 'platform_version' | 'explanations'> & Partial<Row>

/** The columns of the fields that are stored unchanged. */
const columns = {
  alias: 'alias',
  model: 'model',
  serialNumber: 'serial_number',
  macAddress: 'mac_address',
  externalId: 'external_id',
  antivirusEnabled: 'antivirus_enabled',
  autoUpdateEnabled: 'auto_update_enabled',
  firewallEnabled: 'firewall_enabled',
  passwordManagerEnabled: 'password_manager_enabled',
  encryptionEnabled: 'encryption_enabled',
  screenLockEnabled: 'screen_lock_enabled',
  screenLockTime: 'screen_lock_time',
  browserExtensions: 'browser_extensions',
  windowsServices: 'windows_services',
} as const satisfies Partial<Record<keyof DeviceUpload, keyof Row>>

const explanations = [
  'antivirusExplanation',
  'autoUpdateExplanation',
  'firewallExplanation',
  'passwordManagerExplanation',
  'encryptionExplanation',
  'screenLockExplanation',
] as const satisfies readonly (keyof DeviceUpload)[]

type DeviceReport = { readonly values: Values; readonly apps: readonly string[] | undefined; readonly ownerId: number }

/**
 * Updates the device of the connection that has the same key, or creates one with its asset. Fields that are left out keep their values.
 * A report without changes only updates `last_checked_at`. The caller's transaction has locked the connection.
 */
export async function uploadDevice(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  connectionId: number,
  upload: DeviceUpload,
): Promise<Row> {
  const person = await findPerson({ db: trx, accountId: ctx.accountId }, upload.personnelId)
  if (!person) throw new Refusal(404, 'There is no such person')
  const known = await findKnown(trx, connectionId, upload)
  const apps = upload.appList && [...new Set(upload.appList.map(({ name, version }) => `${name} ${version}`))]
  const values = {
    ...storedAsSent(upload),
    platform_name: upload.platformName,
    platform_version: upload.platformVersion,
    personnel_id: person.id,
    explanations: { ...known?.explanations, ...explanationsOf(upload) },
    apps_count: apps?.length ?? known?.apps_count ?? null,
  }
  const report = { values, apps, ownerId: person.user_id }
  const row = await (known ? updateDevice(trx, ctx, known, report) : insertDevice(trx, ctx, connectionId, report))
  const owners = [person.id, ...(known ? [known.personnel_id] : [])]
  await refreshCompliance(trx, { accountId: ctx.accountId, personnelIds: owners, at: ctx.now() })
  return row
}

async function findKnown(
  trx: Kysely<PlatformSchema>,
  connectionId: number,
  { serialNumber, macAddress, externalId }: DeviceUpload,
): Promise<Row | undefined> {
  const [known, second] = await trx
    .selectFrom('devices')
    .selectAll()
    .where('connection_id', '=', connectionId)
    .where((row) =>
      row.or([
        row('serial_number', '=', serialNumber ?? null),
        row('mac_address', '=', macAddress ?? null),
        row('external_id', '=', externalId ?? null),
      ]),
    )
    .execute()
  if (second) throw new Refusal(400, 'serialNumber, macAddress and externalId belong to different devices')
  return known
}

function storedAsSent(upload: DeviceUpload): Partial<Row> {
  return Object.fromEntries(
    Object.entries(columns).flatMap(([field, column]) => {
      const value = upload[field as keyof typeof columns]
      return value === undefined ? [] : [[column, value]]
    }),
  )
}

function explanationsOf(upload: DeviceUpload): Record<string, Explanation> {
  return Object.fromEntries(
    explanations.flatMap((field) => {
      const value = upload[field]
      if (value === undefined) return []
      if (typeof value === 'object') checkExplanation(field, value)
      return [[field, value]]
    }),
  )
}

// The schema has checked texts. The check of nesting comes first: JSON.stringify of a deeply nested value would exhaust the stack.
function checkExplanation(field: string, value: Record<string, unknown>): void {
  if (isStorableJson(value) && JSON.stringify(value).length <= maxLongTextLength) return
  throw new Refusal(400, `${field} is too long, nested too deeply, or holds text that cannot be stored`)
}

async function insertDevice(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  connectionId: number,
  { values, apps = [], ownerId }: DeviceReport,
): Promise<Row> {
  const now = ctx.now()
  const row = await trx
    .insertInto('devices')
    .values({
      ...asColumns(values),
      personnel_id: values.personnel_id,
      platform_name: values.platform_name,
      platform_version: values.platform_version,
      explanations: JSON.stringify(values.explanations),
      account_id: ctx.accountId,
      connection_id: connectionId,
      last_checked_at: now,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await addApps(trx, row.id, apps, now)
  await insertDeviceAsset(trx, row, ownerId)
  await recordEvent(trx, ctx, {
    type: 'DEVICE_LINKED',
    description: 'A device was linked to a person.',
    target: { kind: 'device', id: row.id },
    connectionId,
  })
  return row
}

async function updateDevice(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  known: Row,
  { values, apps, ownerId }: DeviceReport,
): Promise<Row> {
  const now = ctx.now()
  const hasOtherApps = apps !== undefined && (await replaceApps(trx, known.id, apps, now))
  const changed = Object.entries(values).filter(
    ([column, value]) => !isDeepStrictEqual(known[column as keyof Row], value),
  )
  const isSame = changed.length === 0 && !hasOtherApps
  const row = await trx
    .updateTable('devices')
    .set({
      last_checked_at: sql`greatest(last_checked_at, ${now}::timestamptz)`,
      ...(isSame ? {} : { ...asColumns(Object.fromEntries(changed)), ...changedAt(now) }),
    })
    .where('id', '=', known.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (isSame) return row
  await followDevice(trx, { before: known, after: row, ownerId, now })
  const isMoved = known.personnel_id !== row.personnel_id
  await recordEvent(trx, ctx, {
    type: isMoved ? 'DEVICE_LINKED' : 'MDM_USER_DATA_UPDATED',
    description: isMoved ? 'A device was linked to another person.' : 'What is known of a device was updated.',
    target: { kind: 'device', id: row.id },
    connectionId: row.connection_id,
  })
  return row
}

/** Values as the driver takes them: it would write a JSON list as a PostgreSQL array. */
function asColumns(values: Partial<Row>): Updateable<PlatformSchema['devices']> {
  return Object.fromEntries(
    Object.entries(values).map(([column, value]) => [
      column,
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    ]),
  )
}

async function replaceApps(
  trx: Kysely<PlatformSchema>,
  deviceId: number,
  apps: readonly string[],
  now: Date,
): Promise<boolean> {
  const removed = await sql`
    delete from device_apps
    where device_id = ${deviceId}
      and not exists (select from unnest(${apps}::text[]) as reported (app) where app = installed_app)
  `.execute(trx)
  const added = await addApps(trx, deviceId, apps, now)
  return added > 0n || (removed.numAffectedRows ?? 0n) > 0n
}

async function addApps(
  trx: Kysely<PlatformSchema>,
  deviceId: number,
  apps: readonly string[],
  now: Date,
): Promise<bigint> {
  if (apps.length === 0) return 0n
  const { numAffectedRows = 0n } = await sql`
    insert into device_apps (device_id, installed_app, created_at, updated_at)
    select ${deviceId}::bigint, app, ${now}::timestamptz, ${now}::timestamptz
    from unnest(${apps}::text[]) with ordinality as reported (app, position)
    order by position
    on conflict (device_id, installed_app) do nothing
  `.execute(trx)
  return numAffectedRows
}
