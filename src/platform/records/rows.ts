import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import type { CustomDataRecord, DataRecord } from '../../contract/platform/custom-data-records.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { maxNamedTargets } from '../events/store-events.ts'

type RecordRow = Selectable<PlatformSchema['custom_data_records']>

/** A record as it was read, with what tells whether it still is that. */
type LiveRecord = RecordRow & { readonly version: string }

/** What became of a record: `changed` is false where the same was stored already. */
export type StoredRecord = {
  readonly record_id: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly created: boolean
  readonly changed: boolean
}

/** The set of records that is live: the active session's, or the one without a session. One statement sees one of them. */
export function liveSet(resourceId: number): RawBuilder<string> {
  return sql`coalesce((
    select active.session_id from custom_data_sessions as active
    where active.resource_id = ${resourceId}::bigint and active.status = 'ACTIVE'
  ), '')`
}

/** The set of records that a session has, or the live one. */
export function setOf(resourceId: number, sessionId: string | null | undefined): RawBuilder<string> {
  return typeof sessionId === 'string' ? sql`${sessionId}::text` : liveSet(resourceId)
}

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

/**
 * Creates and replaces records whose keys are distinct, in one statement whatever their number, and answers by key. Rows are
 * taken in key order, so that of two uploads that share keys the later one waits. One that is as it was keeps its moments.
 */
export async function storeRecords(
  trx: Kysely<PlatformSchema>,
  {
    resourceId,
    set,
    records,
    now,
  }: {
    readonly resourceId: number
    readonly set: RawBuilder<string>
    readonly records: readonly { readonly recordId: string; readonly data: DataRecord }[]
    readonly now: Date
  },
): Promise<ReadonlyMap<string, StoredRecord>> {
  const given = JSON.stringify(records.map(({ recordId, data }) => ({ record_id: recordId, attributes: data })))
  const { rows } = await sql<StoredRecord>`
    insert into custom_data_records as stored (resource_id, session_id, record_id, attributes, created_at, updated_at)
    select ${resourceId}::bigint, ${set}, record_id, attributes, ${now}::timestamptz, ${now}::timestamptz
    from json_to_recordset(${given}::json) as given (record_id text, attributes jsonb)
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
 * Merges properties into a record that still is as it was read, or answers undefined. The database merges, so that a number keeps digits
 * which JavaScript would round, such as those of an imported record.
 */
export async function mergeAttributes(
  trx: Kysely<PlatformSchema>,
  { id, version }: LiveRecord,
  { changes, now }: { readonly changes: DataRecord; readonly now: Date },
): Promise<RecordRow | undefined> {
  return trx
    .updateTable('custom_data_records')
    .set({
      attributes: sql`attributes || ${JSON.stringify(changes)}::jsonb`,
      updated_at: sql`greatest(updated_at, ${now}::timestamptz)`,
      changed_in: sql`pg_current_xact_id()`,
    })
    .where('id', '=', id)
    .where(sql<boolean>`changed_in = ${version}::text::xid8`)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes a whole set, or one record of it, and answers how many there were with the first of their keys. */
export async function deleteRecords(
  trx: Kysely<PlatformSchema>,
  { resourceId, set, recordId }: { resourceId: number; set: RawBuilder<string>; recordId?: string },
): Promise<{ count: number; keys: string[] }> {
  const { rows } = await sql<{ record_id: string; total: number }>`
    with gone as (
      delete from custom_data_records
      where resource_id = ${resourceId}::bigint and session_id = ${set}
        ${recordId === undefined ? sql`` : sql`and record_id = ${recordId}`}
      returning record_id
    )
    select record_id, (count(*) over ())::int as total from gone order by record_id collate "C" limit ${maxNamedTargets}
  `.execute(trx)
  return { count: rows[0]?.total ?? 0, keys: rows.map((row) => row.record_id) }
}

export function presentRecord(row: RecordRow): CustomDataRecord {
  return {
    id: row.record_id,
    attributes: row.attributes,
    sessionId: row.session_id === '' ? null : row.session_id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
