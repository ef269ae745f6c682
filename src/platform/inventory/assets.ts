import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import type { AssetCreate, AssetUpdate, assets } from '../../contract/platform/assets.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { checkCustomFields, requireCustomFields, storeCustomFields } from '../company/custom-fields.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { changedAt } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type EventType, type NewEvent, recordEvent } from '../events/store-events.ts'
import { insertClasses, replaceClasses } from './asset-classes.ts'
import { presentAssets } from './present-assets.ts'

type Row = Selectable<PlatformSchema['assets']>

/** The handlers of the operations on assets. */
export const assetHandlers: Handlers<typeof assets, PlatformContext> = {
  async listAssets(ctx, { query }) {
    const { assetType, assetProvider, userId, employmentStatus } = query
    const expand = query['expand[]'] ?? []
    const assetClassType = expand.includes('assetClassTypes') ? query.assetClassType : undefined
    const filter = { assetClassType, assetType, assetProvider, userId, employmentStatus }
    return replyWithPage(ctx, {
      table: 'assets',
      where: filterConditions(ctx, filter),
      filter,
      query,
      present: (rows) => presentAssets(ctx, rows, expand),
    })
  },

  async createAsset(ctx, { body }) {
    requireCustomFields(ctx, { submitted: body.customFields })
    const row = await ctx.db.transaction().execute((trx) => insertAsset(trx, ctx, body))
    const [asset = refuseUnknown()] = await presentAssets(ctx, [row])
    return { status: 201, body: asset }
  },

  async getAsset(ctx, { params, query }) {
    requireCustomFields(ctx, { expand: query['expand[]'] })
    const row = await assetOf(ctx, ctx.db, params.assetId).executeTakeFirst()
    const [asset = refuseUnknown()] = await presentAssets(ctx, row ? [row] : [], query['expand[]'])
    return { status: 200, body: asset }
  },

  async updateAsset(ctx, { params, body }) {
    requireCustomFields(ctx, { submitted: body.customFields })
    const row = await ctx.db.transaction().execute((trx) => updateAsset(trx, ctx, params.assetId, body))
    if (!row) return { status: 204 }
    const [asset = refuseUnknown()] = await presentAssets(ctx, [row])
    return { status: 200, body: asset }
  },

  async deleteAsset(ctx, { params }) {
    await ctx.db.transaction().execute(async (trx) => {
      const row = await assetOf(ctx, trx, params.assetId).forUpdate().executeTakeFirst()
      if (!row) refuseUnknown()
      if (row.device_id !== null) throw new Refusal(400, 'The asset of a device goes with its device only')
      await trx.deleteFrom('assets').where('id', '=', row.id).execute()
      await recordEvent(trx, ctx, assetEvent('MANUAL_ASSET_DELETED', 'An asset was removed.', row.id))
    })
    return { status: 204 }
  },
}

type Filter = Pick<
  Parameters<typeof assetHandlers.listAssets>[1]['query'],
  'assetClassType' | 'assetType' | 'assetProvider' | 'userId' | 'employmentStatus'
>

function filterConditions(ctx: PlatformContext, filter: Filter): RawBuilder<unknown> {
  const { assetClassType, assetType, assetProvider, userId, employmentStatus } = filter
  const ofAccount = sql`account_id = ${ctx.accountId}`
  const conditions = [ofAccount]
  if (assetType) conditions.push(sql`asset_type = ${assetType}`)
  if (assetProvider) conditions.push(sql`provider = ${assetProvider}`)
  if (userId) conditions.push(sql`owner_id = ${userId}`)
  if (assetClassType) {
    conditions.push(
      sql`id in (select asset_id from asset_class_types where ${ofAccount} and class_type = ${assetClassType})`,
    )
  }
  if (employmentStatus) {
    const owners = sql`select user_id from personnel where ${ofAccount} and employment_status = ${employmentStatus}`
    conditions.push(sql`owner_id in (${owners})`)
  }
  return sql.join(conditions, sql` and `)
}

function assetOf(ctx: PlatformContext, db: Kysely<PlatformSchema>, id: number) {
  return db.selectFrom('assets').selectAll().where('account_id', '=', ctx.accountId).where('id', '=', id)
}

async function insertAsset(trx: Kysely<PlatformSchema>, ctx: PlatformContext, body: AssetCreate): Promise<Row> {
  const now = ctx.now()
  await requireUser(trx, ctx, body.ownerId)
  const fields = await checkCustomFields(trx, ctx, 'ASSET', { submitted: body.customFields, isNew: true })
  const row = await trx
    .insertInto('assets')
    .values({
      account_id: ctx.accountId,
      owner_id: body.ownerId,
      name: body.name,
      description: body.description,
      asset_type: body.assetType,
      provider: 'DRATA',
      notes: body.notes ?? null,
      associated_id: body.associatedId ?? null,
      removed_at: body.removedAt ?? null,
      external_id: body.externalId ?? null,
      external_owner_id: body.externalOwnerId ?? null,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await insertClasses(trx, row, body.assetClassTypes, now)
  await storeCustomFields(trx, { entityType: 'ASSET', entityId: row.id }, fields)
  await recordEvent(trx, ctx, assetEvent('MANUAL_ASSET_CREATED', 'An asset was added by hand.', row.id))
  return row
}

/** Updates an asset and returns it, or null if the update changes nothing. */
async function updateAsset(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  id: number,
  { assetClassTypes, customFields, ...body }: AssetUpdate,
): Promise<Row | null> {
  const known = (await assetOf(ctx, trx, id).forNoKeyUpdate().executeTakeFirst()) ?? refuseUnknown()
  if (body.ownerId !== undefined) await requireUser(trx, ctx, body.ownerId)
  const fields = await checkCustomFields(trx, ctx, 'ASSET', { submitted: customFields, isNew: false })
  const changed = changedColumns(known, body)
  const hasOtherClasses =
    assetClassTypes !== undefined && (await replaceClasses(trx, known, assetClassTypes, ctx.now()))
  const hasOtherFields =
    fields.length > 0 && (await storeCustomFields(trx, { entityType: 'ASSET', entityId: id }, fields))
  if (Object.keys(changed).length === 0 && !hasOtherClasses && !hasOtherFields) return null
  const row = await trx
    .updateTable('assets')
    .set({ ...changed, ...changedAt(ctx.now()) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  const type = hasOtherClasses || hasOtherFields ? 'MANUAL_ASSET_UPDATED' : updateType(Object.keys(changed))
  await recordEvent(trx, ctx, assetEvent(type, 'An asset was updated.', id))
  return row
}

function changedColumns(known: Row, body: Omit<AssetUpdate, 'assetClassTypes' | 'customFields'>) {
  const columns = {
    name: body.name,
    description: body.description,
    notes: body.notes,
    owner_id: body.ownerId,
    asset_type: body.assetType,
  } as const
  const changed = Object.entries(columns).filter(
    ([column, value]) => value !== undefined && value !== known[column as keyof typeof columns],
  )
  return Object.fromEntries(changed) as Partial<Row>
}

// The contract has event types of its own for an update of the notes or the owner alone.
function updateType([column, second]: readonly string[]): EventType {
  if (second === undefined && column === 'notes') return 'ASSET_NOTES_UPDATED'
  if (second === undefined && column === 'owner_id') return 'ASSET_OWNER_UPDATED'
  return 'MANUAL_ASSET_UPDATED'
}

async function requireUser(trx: Kysely<PlatformSchema>, ctx: PlatformContext, id: number): Promise<void> {
  const user = await trx
    .selectFrom('users')
    .select('id')
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', id)
    .forKeyShare()
    .executeTakeFirst()
  if (!user) throw new Refusal(404, `There is no user ${id}`)
}

function assetEvent(type: EventType, description: string, id: number): NewEvent {
  return { type, description, target: { kind: 'asset', id } }
}

function refuseUnknown(): never {
  throw new Refusal(404, 'There is no such asset')
}
