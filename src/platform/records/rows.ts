import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import type { CustomDataRecord, DataRecord } from '../../contract/platform/custom-data-records.ts'
import { changedAt, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { maxNamedTargets } from '../events/store-events.ts'

type RecordRow = Selectable<PlatformSchema['custom_data_records']>

/** A record as read. `version` changes with every write. */
type LiveRecord = RecordRow & { readonly version: string }

/** The result of storing a record. `changed` is false if the same record was stored before. */
export type StoredRecord = {
  readonly record_id: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly created: boolean
  readonly changed: boolean
}

/** The session id of the live records: the active session's, or empty without one. Evaluated inside a statement, so that the statement sees one set. */
export function liveSet(resourceId: number): RawBuilder<string> {
  return sql`coalesce((
    select active.session_id from custom_data_sessions as active
    where active.resource_id = ${resourceId}::bigint and active.status = 'ACTIVE'
  ), '')`
}

/** The session id of the records of a session, or of the live records without one. */
export function setOf(resourceId: number, sessionId: string | null | undefined): RawBuilder<string> {
  return typeof sessionId === 'string' ? sql`${sessionId}::text` : liveSet(resourceId)
}

/** The live record of that key, or undefined. */
export async function findLiveRecord(
  db: Kysely<PlatformSchema>,
  resourceId: number,
  recordId: string,
): Promise<LiveRecord | undefined> {
  return db
    .selectFrom('custom_data_records')
    .selectAll()
    .select(sql<string>`changed_in::text`.as('version'))
    .where('resource_id', '=', resourceId)
    .where('session_id', '=', liveSet(resourceId))
    .where('record_id', '=', recordId)
    .executeTakeFirst()
}

type RecordBatch = {
  readonly resourceId: number
  /** See `setOf`. */
  readonly set: RawBuilder<string>
  readonly records: readonly { readonly recordId: string; readonly data: DataRecord }[]
  readonly now: Date
}

/**
 * Creates or replaces records with distinct keys in one statement and returns the results by key. It locks rows in key order, so that
 * uploads with the same keys never deadlock. An unchanged record keeps its times.
 */
export async function storeRecords(
  trx: Kysely<PlatformSchema>,
  { resourceId, set, records, now }: RecordBatch,
): Promise<ReadonlyMap<string, StoredRecord>> {
  const json = JSON.stringify(records.map(({ recordId, data }) => ({ record_id: recordId, attributes: data })))
  const { rows } = await sql<StoredRecord>`
    insert into custom_data_records as stored (resource_id, session_id, record_id, attributes, created_at, updated_at)
    select ${resourceId}::bigint, ${set}, record_id, attributes, ${now}::timestamptz, ${now}::timestamptz
    from json_to_recordset(${json}::json) as record (record_id text, attributes jsonb)
    order by record_id collate "C"
    on conflict (resource_id, session_id, record_id) do update
    set attributes = excluded.attributes,
        updated_at = case when stored.attributes = excluded.attributes then stored.updated_at
                     else greatest(stored.updated_at, excluded.updated_at) end,
        changed_in = case when stored.attributes = excluded.attributes then stored.changed_in
                     else pg_current_xact_id() end
    returning record_id, created_at, updated_at, created_in = pg_current_xact_id() as created,
              changed_in = pg_current_xact_id() as changed
  `.execute(trx)
  return new Map(rows.map((row) => [row.record_id, row]))
}

/**
 * Merges properties into a record; returns undefined if the record has changed since it was read. PostgreSQL merges, so that stored
 * numbers keep digits that JavaScript would round.
 */
export async function mergeAttributes(
  trx: Kysely<PlatformSchema>,
  { id, version }: LiveRecord,
  changes: DataRecord,
  now: Date,
): Promise<RecordRow | undefined> {
  return trx
    .updateTable('custom_data_records')
    .set({
      attributes: sql`attributes || ${JSON.stringify(changes)}::jsonb`,
      ...changedAt(now),
    })
    .where('id', '=', id)
    .where(sql<boolean>`changed_in = ${version}::text::xid8`)
    .returningAll()
    .executeTakeFirst()
}

type RecordSet = { readonly resourceId: number; readonly set: RawBuilder<string>; readonly recordId?: string }

/** Deletes the records of a set, or one of them. Returns their number, and at most `maxNamedTargets` of their keys in order. */
export async function deleteRecords(
  trx: Kysely<PlatformSchema>,
  { resourceId, set, recordId }: RecordSet,
): Promise<{ count: number; keys: string[] }> {
  const { rows } = await sql<{ record_id: string; total: number }>`
    with deleted as (
      delete from custom_data_records
      where resource_id = ${resourceId}::bigint and session_id = ${set}
        ${recordId === undefined ? sql`` : sql`and record_id = ${recordId}`}
      returning record_id
    )
    select record_id, (count(*) over ())::int as total from deleted order by record_id collate "C" limit ${maxNamedTargets}
  `.execute(trx)
  return { count: rows[0]?.total ?? 0, keys: rows.map((row) => row.record_id) }
}

/** A record as responses carry it. */
export function presentRecord(row: RecordRow): CustomDataRecord {
  return {
    id: row.record_id,
    attributes: row.attributes,
    sessionId: row.session_id === '' ? null : row.session_id,
    ...presentTimes(row),
  }
}
