import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { CustomDataRecord, customDataRecords, DataRecord } from '../../contract/platform/custom-data-records.ts'
import { Refusal, refuse } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { findResource, lockResource, type Resource } from '../connections/access.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { isStorableJson } from '../core/storable-json.ts'
import { dataRecordEvents } from '../events/data-record-events.ts'
import { recordEvents } from '../events/store-events.ts'
import { isTooLarge, maxRecordBytes } from './items.ts'
import { deleteRecords, findLiveRecord, liveSet, mergeAttributes, presentRecord, setOf } from './rows.ts'
import { mismatchText, uploadRecords, validateRecords } from './upload.ts'

/** Maximum size of the records of a page: 500 records of the maximum size would exhaust the memory. */
const maxPageBytes = 16 * 1024 * 1024

type RecordPath = { readonly connectionId: number; readonly resourceId: number; readonly recordId: string }

/** The handlers of the operations on custom data records. */
export const customDataRecordHandlers: Handlers<typeof customDataRecords, PlatformContext> = {
  async listCustomDataRecords(ctx, { params, query }) {
    const { id } = await findResource(ctx, params)
    return replyWithPage(ctx, {
      table: 'custom_data_records',
      where: sql`resource_id = ${id} and session_id = ${setOf(id, query.sessionId)}`,
      filter: { ...params, sessionId: query.sessionId },
      query,
      byteLimit: { rowBytes: sql`octet_length(attributes::text)`, maxBytes: maxPageBytes },
      present: (rows) => rows.map(presentRecord),
    })
  },

  async upsertCustomDataRecords(ctx, { params, body }) {
    return uploadRecords(ctx, params, { data: body.data, sessionId: null })
  },

  async updateCustomDataRecord(ctx, { params, body }) {
    const resource = await findResource(ctx, params)
    for (;;) {
      const updated = await updateRecord(ctx, resource, params, body.data)
      if (updated) return { status: 200, body: updated }
    }
  },

  async deleteCustomDataRecord(ctx, { params }) {
    const { connectionId, resourceId, recordId } = params
    await findResource(ctx, params)
    await ctx.db.transaction().execute(async (trx) => {
      await lockResource(trx, params, 'shared')
      const deleted = await deleteRecords(trx, { resourceId, set: liveSet(resourceId), recordId })
      if (deleted.count === 0) refuseUnknown(recordId)
      await recordEvents(trx, ctx, singleEvents('REMOVED', { connectionId, recordId }))
    })
    return { status: 204 }
  },
}

/**
 * Merges properties into a live record; returns null if another request changed the record meanwhile. The validation runs outside of
 * the transaction because a schema may be slow.
 */
async function updateRecord(
  ctx: PlatformContext,
  resource: Resource,
  { connectionId, resourceId, recordId }: RecordPath,
  changes: DataRecord,
): Promise<CustomDataRecord | null> {
  const row = (await findLiveRecord(ctx.db, resourceId, recordId)) ?? refuseUnknown(recordId)
  if (changes.id !== undefined && changes.id !== recordId) {
    throw new Refusal(400, 'data.id differs from the key of this record; a key never changes')
  }
  const data = { ...row.attributes, ...changes }
  if (isDeepStrictEqual(data, row.attributes)) return presentRecord(row)
  if (!isStorableJson(data)) {
    throw new Refusal(400, 'data holds text or numbers that cannot be stored, or is nested too deeply')
  }
  if (isTooLarge(data)) {
    throw refuse('TooLarge', `with this change the record would be larger than ${maxRecordBytes / 1024} KiB`)
  }
  const failure = (await validateRecords(ctx, resource, [data])).get(0)
  if (failure !== undefined) throw refuse('SchemaMismatch', mismatchText(failure))
  return ctx.db.transaction().execute(async (trx) => {
    const updated = await mergeAttributes(trx, row, changes, ctx.now())
    if (!updated) return null
    await recordEvents(trx, ctx, singleEvents('UPDATED', { connectionId, recordId }))
    return presentRecord(updated)
  })
}

function singleEvents(change: 'UPDATED' | 'REMOVED', { connectionId, recordId }: Omit<RecordPath, 'resourceId'>) {
  const target = { kind: 'customDataRecord', id: recordId } as const
  return dataRecordEvents(change, { connectionId, target, kind: target.kind, noun: 'record', keys: [recordId] })
}

function refuseUnknown(recordId: string): never {
  throw new Refusal(404, `This resource has no live record ${recordId}`)
}
