import { type Kysely, type Selectable, sql } from 'kysely'
import type {
  CustomConnection,
  CustomConnectionCreate,
  CustomConnectionResource,
  CustomConnectionUpdate,
  customConnections,
} from '../../contract/platform/custom-connections.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { listById, presentRows } from '../core/present-rows.ts'
import { anyOf, changedAt, groupRows, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type NewEvent, recordEvent } from '../events/store-events.ts'
import { type AllowedConnection, checkConnectionRules, requireUsableSchema } from './rules.ts'

type Row = Selectable<PlatformSchema['custom_connections']>

/** The handlers of the operations on custom connections. */
export const customConnectionHandlers: Handlers<typeof customConnections, PlatformContext> = {
  async listCustomConnections(ctx, { query }) {
    return replyWithPage(ctx, {
      table: 'custom_connections',
      where: sql`account_id = ${ctx.accountId}`,
      query,
      present: (rows) => present(ctx, rows, query['expand[]']),
    })
  },

  async createCustomConnection(ctx, { body }) {
    const allowed = checkConnectionRules(body)
    await requireUsableSchema(ctx, allowed)
    const row = await ctx.db.transaction().execute(async (trx) => {
      const inserted = await insertConnection(trx, ctx, body, allowed)
      await recordEvent(trx, ctx, connectionEvent('CREATED', inserted.id))
      return inserted
    })
    return { status: 201, body: await presentOne(ctx, row) }
  },

  async getCustomConnection(ctx, { params, query }) {
    const row = await findConnection(ctx.db, ctx.accountId, params.connectionId)
    return { status: 200, body: await presentOne(ctx, row, query['expand[]']) }
  },

  async updateCustomConnection(ctx, { params, body }) {
    const row = await ctx.db.transaction().execute((trx) => updateConnection(trx, ctx, params.connectionId, body))
    return { status: 200, body: await presentOne(ctx, row) }
  },

  async deleteCustomConnection(ctx, { params }) {
    await ctx.db.transaction().execute((trx) => deleteConnection(trx, ctx, params.connectionId))
    return { status: 204 }
  },
}

/** The connection of that id in the caller's account; any other is refused with 404. */
async function findConnection(db: Kysely<PlatformSchema>, accountId: number, id: number): Promise<Row> {
  const row = await db
    .selectFrom('custom_connections')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? refuseUnknown(id)
}

function refuseUnknown(id: number): never {
  throw new Refusal(404, `There is no custom connection ${id}`)
}

async function insertConnection(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  { name, description = null }: CustomConnectionCreate,
  allowed: AllowedConnection,
): Promise<Row> {
  const now = ctx.now()
  const row = await trx
    .insertInto('custom_connections')
    .values({
      account_id: ctx.accountId,
      provider_type: allowed.providerType,
      client_alias: name,
      description,
      created_by_id: ctx.callerId,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  if (allowed.providerType === 'CUSTOM') {
    await joinWorkspaces(trx, { accountId: ctx.accountId, connectionId: row.id, workspaceIds: allowed.workspaceIds })
    await trx
      .insertInto('custom_resources')
      .values({
        connection_id: row.id,
        name,
        description,
        schema: JSON.stringify(allowed.schema),
        display_name_key: allowed.displayNameKey,
        created_at: now,
        updated_at: now,
      })
      .execute()
  }
  return row
}

type Membership = {
  readonly accountId: number
  readonly connectionId: number
  readonly workspaceIds: readonly number[]
}

async function joinWorkspaces(
  trx: Kysely<PlatformSchema>,
  { accountId, connectionId, workspaceIds }: Membership,
): Promise<void> {
  const joined = await trx
    .insertInto('connection_workspaces')
    .columns(['connection_id', 'workspace_id'])
    .expression((from) =>
      from
        .selectFrom('workspaces')
        .select([sql<number>`${connectionId}::bigint`.as('connection_id'), 'id as workspace_id'])
        .where('account_id', '=', accountId)
        .where(sql<boolean>`id = any(${workspaceIds}::bigint[])`),
    )
    .returning('workspace_id')
    .execute()
  if (joined.length < workspaceIds.length) throw new Refusal(400, 'workspaceIds names a workspace that does not exist')
}

async function updateConnection(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  id: number,
  { clientAlias, description }: CustomConnectionUpdate,
): Promise<Row> {
  const row = await trx
    .selectFrom('custom_connections')
    .selectAll()
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!row) return refuseUnknown(id)
  const columns = {
    client_alias: clientAlias === undefined ? row.client_alias : clientAlias,
    description: description ?? row.description,
  }
  if (columns.client_alias === row.client_alias && columns.description === row.description) return row
  const updated = await trx
    .updateTable('custom_connections')
    .set({
      ...columns,
      ...changedAt(ctx.now()),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await recordEvent(trx, ctx, connectionEvent('UPDATED', id))
  return updated
}

/** Deletes a connection with everything that it holds. A connection that is not there changes nothing. */
async function deleteConnection(trx: Kysely<PlatformSchema>, ctx: PlatformContext, id: number): Promise<void> {
  const own = trx.selectFrom('custom_connections').where('account_id', '=', ctx.accountId).where('id', '=', id)
  if (!(await own.select('id').forUpdate().executeTakeFirst())) return
  const owners = await trx.selectFrom('devices').select('personnel_id').where('connection_id', '=', id).execute()
  await trx.deleteFrom('custom_connections').where('id', '=', id).execute()
  await recordEvent(trx, ctx, connectionEvent('REMOVED', id))
  await refreshCompliance(trx, {
    accountId: ctx.accountId,
    personnelIds: owners.map((owner) => owner.personnel_id),
    at: ctx.now(),
  })
}

function connectionEvent(change: 'CREATED' | 'UPDATED' | 'REMOVED', id: number): NewEvent {
  return {
    type: `PROVIDER_CONNECTION_${change}`,
    description: `Custom connection ${id} was ${change.toLowerCase()}`,
    target: { kind: 'customConnection', id },
    connectionId: id,
  }
}

async function presentOne(ctx: PlatformContext, row: Row, expand?: readonly string[]): Promise<CustomConnection> {
  const [connection = presentRow(row)] = await present(ctx, [row], expand)
  return connection
}

function present(ctx: PlatformContext, rows: readonly Row[], expand?: readonly string[]): Promise<CustomConnection[]> {
  const creatorIds = rows.map((row) => row.created_by_id)
  const loaders = {
    createdByUser: async () => {
      const creators = await compactUsers(ctx.db, ctx.accountId, creatorIds)
      return (row: Row) => creators.get(row.created_by_id)
    },
    customResources: async () => listById(await resourcesOf(ctx.db, rows)),
  }
  return presentRows(rows, { present: presentRow, expand, loaders })
}

function presentRow(row: Row): CustomConnection {
  return {
    id: row.id,
    clientAlias: row.client_alias,
    description: row.description,
    providerTypes: [row.provider_type],
    createdById: row.created_by_id,
    ...presentTimes(row),
  }
}

async function resourcesOf(
  db: Kysely<PlatformSchema>,
  connections: readonly Row[],
): Promise<ReadonlyMap<number, CustomConnectionResource[]>> {
  const rows = await db
    .selectFrom('custom_resources')
    .selectAll()
    .where('connection_id', '=', anyOf(connections.map(({ id }) => id)))
    .orderBy('id')
    .execute()
  return groupRows(rows, (row) => row.connection_id, presentResource)
}

function presentResource(row: Selectable<PlatformSchema['custom_resources']>): CustomConnectionResource {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    schema: row.schema,
    ...presentTimes(row),
  }
}
