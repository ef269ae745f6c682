import { sql } from 'kysely'
import type { hrisUserIdentities, ItemResult } from '../../contract/platform/hris-user-identities.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { lockConnectionForShare, requireConnection } from '../connections/access.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { dataRecordEvents } from '../events/data-record-events.ts'
import { recordEvents } from '../events/store-events.ts'
import { applyBatch, type Outcome } from './batch.ts'
import { type CheckedItem, checkItems, submittedValues } from './items.ts'
import { identityRecords } from './merge.ts'
import { findIdentity, lockIdentity, presentIdentity } from './rows.ts'

/** The handlers of the operations on HRIS user identities. */
export const hrisUserIdentityHandlers: Handlers<typeof hrisUserIdentities, PlatformContext> = {
  async listHrisUserIdentities(ctx, { params, query }) {
    await requireConnection(ctx, hris(params.connectionId))
    return replyWithPage(ctx, {
      table: 'hris_user_identities',
      where: sql`connection_id = ${params.connectionId} and deleted_at is null`,
      filter: params,
      query,
      present: (rows) => rows.map(presentIdentity),
    })
  },

  async upsertHrisUserIdentities(ctx, { params, body }) {
    const items = checkItems(body)
    const submissions = items.flatMap((item) => ('submission' in item ? [item.submission] : []))
    const outcomes = await applyBatch(ctx.db, ctx, { connectionId: params.connectionId, submissions })
    const results = items.map((item) => itemResult(item, outcomes))
    return { status: batchStatus(results), body: results }
  },

  async getHrisUserIdentity(ctx, { params }) {
    await requireConnection(ctx, hris(params.connectionId))
    const row = await findIdentity(ctx.db, params.connectionId, params.userIdentityId)
    return { status: 200, body: presentIdentity(row ?? refuseUnknown()) }
  },

  async updateHrisUserIdentity(ctx, { params, body }) {
    const { identityId, ...fields } = body
    const updated = await ctx.db.transaction().execute(async (trx) => {
      await lockConnectionForShare(trx, ctx, hris(params.connectionId))
      const row = (await lockIdentity(trx, params.connectionId, params.userIdentityId)) ?? refuseUnknown()
      if (identityId !== undefined && identityId !== row.identity_id) {
        throw new Refusal(400, 'identityId differs from the key of this record; a key never changes')
      }
      const submissions = [{ identityId: row.identity_id, values: submittedValues(fields) }]
      const applied = await applyBatch(trx, ctx, { connectionId: params.connectionId, submissions })
      return applied.get(row.identity_id)?.data ?? presentIdentity(row)
    })
    return { status: 200, body: updated }
  },

  async deleteHrisUserIdentity(ctx, { params }) {
    await ctx.db.transaction().execute(async (trx) => {
      await lockConnectionForShare(trx, ctx, hris(params.connectionId))
      const row = (await lockIdentity(trx, params.connectionId, params.userIdentityId)) ?? refuseUnknown()
      await trx
        .updateTable('hris_user_identities')
        .set({ deleted_at: ctx.now(), changed_in: sql`pg_current_xact_id()` })
        .where('id', '=', row.id)
        .execute()
      const removed = { ...identityRecords, connectionId: params.connectionId, keys: [row.identity_id] }
      await recordEvents(trx, ctx, dataRecordEvents('REMOVED', removed))
    })
    return { status: 204 }
  },
}

function hris(connectionId: number) {
  return { connectionId, type: 'HRIS' } as const
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
