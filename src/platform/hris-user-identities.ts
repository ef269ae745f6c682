import { type Kysely, sql } from 'kysely'
import type { hrisUserIdentities, ItemResult } from '../contract/hris-user-identities.ts'
import type { Handlers } from '../http/mount.ts'
import { Refusal } from '../http/refusal.ts'
import type { PlatformContext } from './context.ts'
import { applyBatch, mergeRow, type Outcome, presentWrite } from './identity-batch.ts'
import { type CheckedItem, checkItems, submittedValues } from './identity-items.ts'
import { findIdentity, lockIdentity, presentIdentity, updateIdentities } from './identity-rows.ts'
import { listPage } from './pages.ts'
import type { PlatformSchema } from './schema.ts'

export const hrisUserIdentityHandlers: Handlers<typeof hrisUserIdentities, PlatformContext> = {
  async listHrisUserIdentities(ctx, { params, query }) {
    await requireHris(ctx, ctx.db, params.connectionId)
    const { rows, pagination } = await listPage(ctx, {
      table: 'hris_user_identities',
      where: sql`connection_id = ${params.connectionId} and deleted_at is null`,
      filter: params,
      query,
    })
    return { status: 200, body: { data: rows.map(presentIdentity), pagination } }
  },

  async upsertHrisUserIdentities(ctx, { params, body }) {
    const items = checkItems(body)
    const submissions = items.flatMap((item) => ('submission' in item ? [item.submission] : []))
    const outcomes = await ctx.db.transaction().execute(async (trx) => {
      await holdHris(ctx, trx, params.connectionId)
      return applyBatch(trx, { connectionId: params.connectionId, submissions, now: ctx.now() })
    })
    const results = items.map((item) => itemResult(item, outcomes))
    return { status: batchStatus(results), body: results }
  },

  async getHrisUserIdentity(ctx, { params }) {
    await requireHris(ctx, ctx.db, params.connectionId)
    const row = await findIdentity(ctx.db, params.connectionId, params.userIdentityId)
    return { status: 200, body: presentIdentity(row ?? refuseUnknown()) }
  },

  async updateHrisUserIdentity(ctx, { params, body }) {
    const { identityId, ...fields } = body
    const updated = await ctx.db.transaction().execute(async (trx) => {
      await holdHris(ctx, trx, params.connectionId)
      const row = (await lockIdentity(trx, params.connectionId, params.userIdentityId)) ?? refuseUnknown()
      if (identityId !== undefined && identityId !== row.identity_id) {
        throw new Refusal(400, 'identityId differs from the key of this record; a key never changes')
      }
      const merged = mergeRow(row, { identityId: row.identity_id, values: submittedValues(fields) }, ctx.now())
      if (!merged.changed) return presentIdentity(row)
      await updateIdentities(trx, params.connectionId, [merged.write])
      return presentWrite(row, merged.write)
    })
    return { status: 200, body: updated }
  },

  async deleteHrisUserIdentity(ctx, { params }) {
    await ctx.db.transaction().execute(async (trx) => {
      await holdHris(ctx, trx, params.connectionId)
      const row = (await lockIdentity(trx, params.connectionId, params.userIdentityId)) ?? refuseUnknown()
      await trx
        .updateTable('hris_user_identities')
        .set({ deleted_at: ctx.now(), changed_in: sql`pg_current_xact_id()` })
        .where('id', '=', row.id)
        .execute()
    })
    return { status: 204 }
  },
}

async function requireHris(ctx: PlatformContext, db: Kysely<PlatformSchema>, connectionId: number): Promise<void> {
  checkHris(ctx, connectionId, await connectionOf(ctx, db, connectionId).executeTakeFirst())
}

// Held while its records are written, so that nobody deletes the connection in between. Writers do not wait for one another.
async function holdHris(ctx: PlatformContext, trx: Kysely<PlatformSchema>, connectionId: number): Promise<void> {
  checkHris(ctx, connectionId, await connectionOf(ctx, trx, connectionId).forKeyShare().executeTakeFirst())
}

function connectionOf(ctx: PlatformContext, db: Kysely<PlatformSchema>, connectionId: number) {
  return db
    .selectFrom('custom_connections')
    .select('provider_type')
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', connectionId)
}

function checkHris(
  ctx: PlatformContext,
  connectionId: number,
  connection: { provider_type: string } | undefined,
): void {
  if (!connection) throw new Refusal(404, `There is no custom connection ${connectionId}`)
  if (connection.provider_type === 'HRIS') return
  throw new Refusal(
    ctx.operation.errors.includes(400) ? 400 : 404,
    `Custom connection ${connectionId} is of type ${connection.provider_type}; only one of type HRIS holds identities`,
  )
}

function refuseUnknown(): never {
  throw new Refusal(
    404,
    'There is no such identity in this connection; a deleted one comes back through the batch upsert',
  )
}

function itemResult(item: CheckedItem, outcomes: ReadonlyMap<string, Outcome>): ItemResult {
  if ('error' in item) return { statusCode: 400, data: null, error: { message: item.error } }
  const outcome = outcomes.get(item.submission.identityId)
  if (!outcome) throw new Error('a valid item of the batch was left without an outcome')
  return outcome
}

function batchStatus(results: readonly ItemResult[]): 200 | 201 | 207 {
  if (results.some(({ statusCode }) => statusCode === 400)) return 207
  return results.every(({ statusCode }) => statusCode === 201) ? 201 : 200
}
