import { type Kysely, type Selectable, sql } from 'kysely'
import type { DeviceApp, DeviceExpand, DeviceSource, devices } from '../../contract/platform/devices.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformContext } from '../core/context.ts'
import { type ListQuery, replyWithPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { recordEvent } from '../events/store-events.ts'
import { findPerson } from '../people/personnel.ts'
import { deviceSource, presentDevices } from './present-devices.ts'
import { uploadDevice } from './upload-device.ts'

type Row = Selectable<PlatformSchema['devices']>
type DeviceScope = { readonly connectionId?: number; readonly personnelId?: number }
type Query = ListQuery & {
  readonly 'expand[]'?: readonly DeviceExpand[] | undefined
  readonly externalId?: string
  readonly macAddress?: string
  readonly serialNumber?: string
  readonly sourceType?: DeviceSource
}

/** The handlers of the operations on devices. */
export const deviceHandlers: Handlers<typeof devices, PlatformContext> = {
  async listDevices(ctx, { query }) {
    return replyWithDevices(ctx, { personnelId: query.personnelId }, query)
  },

  async listDevicesForPersonnel(ctx, { params, query }) {
    if (!(await findPerson(ctx, params.personnelId))) throw new Refusal(404, 'There is no such person')
    return replyWithDevices(ctx, params, query)
  },

  async getDevice(ctx, { params, query }) {
    const row = await findDevice(ctx, params.deviceId)
    const expand = query['expand[]'] ?? []
    const [device = refuseUnknown()] = await presentDevices(
      ctx,
      [row],
      expand.filter((extra) => extra !== 'deviceApps'),
    )
    const apps = expand.includes('deviceApps') ? await appsOf(ctx, row) : undefined
    return { status: 200, body: { ...device, apps } }
  },

  async listDevicesForConnection(ctx, { params, query }) {
    requireMdm(params.connectionId, await connectionOf(ctx, ctx.db, params.connectionId).executeTakeFirst())
    const scope = { connectionId: params.connectionId, personnelId: query.personnelId }
    return replyWithDevices(ctx, scope, query)
  },

  async listDeviceApps(ctx, { params, query }) {
    await findDevice(ctx, params.deviceId)
    return replyWithPage(ctx, {
      table: 'device_apps',
      where: sql`device_id = ${params.deviceId}`,
      filter: params,
      query,
      present: (rows) => rows.map(presentApp),
    })
  },

  async upsertDevice(ctx, { params, body }) {
    const row = await ctx.db.transaction().execute(async (trx) => {
      await lockMdmConnection(ctx, trx, params.connectionId)
      return uploadDevice(trx, ctx, params.connectionId, body)
    })
    const [device = refuseUnknown()] = await presentDevices(ctx, [row])
    return { status: 201, body: device }
  },

  async deleteDevice(ctx, { params }) {
    await ctx.db.transaction().execute(async (trx) => {
      await lockMdmConnection(ctx, trx, params.connectionId)
      const removed = await trx
        .deleteFrom('devices')
        .where('connection_id', '=', params.connectionId)
        .where('id', '=', params.deviceId)
        .returning('personnel_id')
        .executeTakeFirst()
      if (!removed) refuseUnknown()
      await refreshCompliance(trx, {
        accountId: ctx.accountId,
        personnelIds: [removed.personnel_id],
        at: ctx.now(),
      })
      await recordEvent(trx, ctx, {
        type: 'DEVICE_DELETED',
        description: 'A device of a custom connection was deleted.',
        target: { kind: 'device', id: params.deviceId },
        connectionId: params.connectionId,
      })
    })
    return { status: 204 }
  },
}

async function replyWithDevices(ctx: PlatformContext, { connectionId, personnelId }: DeviceScope, query: Query) {
  const { externalId, macAddress, serialNumber, sourceType } = query
  const conditions = [sql`account_id = ${ctx.accountId}`]
  if (connectionId !== undefined) conditions.push(sql`connection_id = ${connectionId}`)
  if (personnelId !== undefined) conditions.push(sql`personnel_id = ${personnelId}`)
  if (externalId !== undefined) conditions.push(sql`external_id = ${externalId}`)
  if (macAddress !== undefined) conditions.push(sql`mac_address = ${macAddress}`)
  if (serialNumber !== undefined) conditions.push(sql`serial_number = ${serialNumber}`)
  if (sourceType !== undefined && sourceType !== deviceSource) conditions.push(sql`false`)
  return replyWithPage(ctx, {
    table: 'devices',
    where: sql.join(conditions, sql` and `),
    filter: { connectionId, personnelId, externalId, macAddress, serialNumber, sourceType },
    query,
    present: (rows) => presentDevices(ctx, rows, query['expand[]']),
  })
}

async function findDevice(ctx: PlatformContext, id: number): Promise<Row> {
  const row = await ctx.db
    .selectFrom('devices')
    .selectAll()
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? refuseUnknown()
}

async function appsOf(ctx: PlatformContext, { id }: Row): Promise<DeviceApp[]> {
  const rows = await ctx.db.selectFrom('device_apps').selectAll().where('device_id', '=', id).orderBy('id').execute()
  return rows.map(presentApp)
}

function presentApp({ id, installed_app }: Selectable<PlatformSchema['device_apps']>): DeviceApp {
  return { id, installedApp: installed_app }
}

// Writers of one connection wait for each other: otherwise two reports of a new device would create it twice.
async function lockMdmConnection(
  ctx: PlatformContext,
  trx: Kysely<PlatformSchema>,
  connectionId: number,
): Promise<void> {
  requireMdm(connectionId, await connectionOf(ctx, trx, connectionId).forNoKeyUpdate().executeTakeFirst())
}

function connectionOf(ctx: PlatformContext, db: Kysely<PlatformSchema>, connectionId: number) {
  return db
    .selectFrom('custom_connections')
    .select('provider_type')
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', connectionId)
}

function requireMdm(connectionId: number, connection: { provider_type: string } | undefined): void {
  if (!connection) throw new Refusal(404, `There is no custom connection ${connectionId}`)
  if (connection.provider_type === 'MDM') return
  throw new Refusal(
    400,
    `Custom connection ${connectionId} is of type ${connection.provider_type}; only one of type MDM holds devices`,
  )
}

function refuseUnknown(): never {
  throw new Refusal(404, 'There is no such device')
}
