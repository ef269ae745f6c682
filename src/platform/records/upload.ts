import type { BulkResult, DataRecord, SingleResult } from '../../contract/platform/custom-data-records.ts'
import { refusalKinds, refuse } from '../../http/refusal.ts'
import { findResource, lockResource, type Resource, type ResourceRef } from '../connections/access.ts'
import type { PlatformContext } from '../core/context.ts'
import { dataRecordEvents } from '../events/data-record-events.ts'
import { recordEvents } from '../events/store-events.ts'
import { checkRecords, type RecordItem } from './items.ts'
import { type StoredRecord, setOf, storeRecords } from './rows.ts'
import { openSession } from './session-rows.ts'

type Valid = Exclude<RecordItem, { error: unknown }>
type Upload = { readonly data: DataRecord | readonly DataRecord[]; readonly sessionId: string | null }
type ValidUpload = { readonly records: readonly Valid[]; readonly sessionId: string | null }
type Reply =
  | { readonly status: 200; readonly body: SingleResult | BulkResult[] }
  | { readonly status: 201; readonly body: SingleResult }

/** Creates or replaces records of a resource, live ones or those of a session. A list has a result for each record; a single invalid record is refused. */
export async function uploadRecords(
  ctx: PlatformContext,
  ref: ResourceRef,
  { data, sessionId }: Upload,
): Promise<Reply> {
  const resource = await findResource(ctx, ref)
  const sent: readonly DataRecord[] = isList(data) ? data : [data]
  const items = await validateItems(ctx, resource, checkRecords(sent))
  const [only] = items
  if (!isList(data) && only && !isValid(only)) throw refuse(only.error.kind, only.error.message)
  const stored = await storeItems(ctx, ref, { records: items.filter(isValid), sessionId })
  if (isList(data)) return { status: 200, body: items.map((item) => bulkResult(item, stored)) }
  if (!only || !isValid(only)) throw new Error('a single record was left without a result')
  return singleReply(only, stored)
}

/** Validates records by the schema of their resource. Returns the failures by the index of the record. */
export async function validateRecords(
  ctx: PlatformContext,
  { id, schema }: Resource,
  records: readonly DataRecord[],
): Promise<ReadonlyMap<number, string>> {
  if (records.length === 0) return new Map()
  const verdict = await ctx.schemaValidator.validate(ctx.accountId, { schema, cacheKey: id, records })
  if ('failures' in verdict) return verdict.failures
  throw refuse('BadRequest', `the schema of this resource cannot judge these records: ${verdict.refusal}`)
}

/** The message about a record that does not satisfy its schema. */
export function mismatchText(failure: string): string {
  return `Schema validation failed for data: ${failure}`
}

function isList(data: DataRecord | readonly DataRecord[]): data is readonly DataRecord[] {
  return Array.isArray(data)
}

function isValid(item: RecordItem): item is Valid {
  return !('error' in item)
}

async function validateItems(
  ctx: PlatformContext,
  resource: Resource,
  items: readonly RecordItem[],
): Promise<RecordItem[]> {
  const valid = items.filter(isValid)
  const failures = await validateRecords(
    ctx,
    resource,
    valid.map(({ data }) => data),
  )
  const failing = new Map<RecordItem, string>()
  for (const [index, failure] of failures) {
    const item = valid[index]
    if (item) failing.set(item, failure)
  }
  return items.map((item) => {
    const failure = failing.get(item)
    return failure === undefined ? item : { ...item, error: { kind: 'SchemaMismatch', message: mismatchText(failure) } }
  })
}

async function storeItems(
  ctx: PlatformContext,
  ref: ResourceRef,
  { records, sessionId }: ValidUpload,
): Promise<ReadonlyMap<string, StoredRecord>> {
  // The first accepted request creates the session, also without a record: completing it then deletes all records.
  if (records.length === 0 && sessionId === null) return new Map()
  const { connectionId, resourceId } = ref
  return ctx.db.transaction().execute(async (trx) => {
    await lockResource(trx, ref, 'shared')
    if (sessionId !== null) await openSession(trx, { resourceId, sessionId, now: ctx.now() })
    const set = setOf(resourceId, sessionId)
    const stored = await storeRecords(trx, { resourceId, set, records, now: ctx.now() })
    const changed = [...stored.values()].filter((record) => record.changed)
    const [created, updated] = [changed.filter((record) => record.created), changed.filter((record) => !record.created)]
    const shared = {
      connectionId,
      target: { kind: 'customResource', id: resourceId },
      kind: 'customDataRecord',
      noun: sessionId === null ? 'record' : 'staged record',
    } as const
    await recordEvents(trx, ctx, [
      ...dataRecordEvents('CREATED', { ...shared, keys: created.map((record) => record.record_id) }),
      ...dataRecordEvents('UPDATED', { ...shared, keys: updated.map((record) => record.record_id) }),
    ])
    return stored
  })
}

function bulkResult(item: RecordItem, stored: ReadonlyMap<string, StoredRecord>): BulkResult {
  if (isValid(item)) return result(item, stored)
  const { recordId, data, error } = item
  return {
    id: recordId,
    statusCode: refusalKinds[error.kind].status,
    data,
    error: { message: error.message, code: refusalKinds[error.kind].code },
  }
}

function singleReply(item: Valid, stored: ReadonlyMap<string, StoredRecord>): Reply {
  const body = result(item, stored)
  return body.statusCode === 201 ? { status: 201, body } : { status: 200, body }
}

function result({ recordId, data }: Valid, stored: ReadonlyMap<string, StoredRecord>): SingleResult {
  const record = stored.get(recordId)
  if (!record) throw new Error('a valid record was left without a result')
  return {
    id: recordId,
    createdAt: record.created_at.toISOString(),
    updatedAt: record.updated_at.toISOString(),
    statusCode: record.created ? 201 : 200,
    data,
  }
}
