import { type Kysely, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import { checkConnection, connectionForShare } from '../connections/access.ts'
import type { Caller } from '../core/context.ts'
import type { PlatformSchema, ProviderType } from '../core/schema.ts'
import { dataRecordEventsInsert } from '../events/data-record-events.ts'
import type { WriteContext } from '../events/store-events.ts'
import type { Submission } from './items.ts'
import { type IdentityValues, identityColumns } from './values.ts'

/** A record that a submission created or changed. Times are milliseconds since 1970. */
export type WrittenRecord = {
  readonly id: number
  readonly identity_id: string
  /** The values of the fields that the submission did not name, except the leaving date; null if there are none. */
  readonly kept: Kept | null
  /** Null for a new record, which has the submitted date. */
  readonly separated_at: number | null
  /** Null for a new record. */
  readonly created_at: number | null
  readonly updated_at: number | null
}

type IdentityBatch = {
  readonly connectionId: number
  readonly submissions: readonly Submission[]
  readonly by: WriteContext
}

type Kept = Omit<IdentityValues, 'startedAt' | 'separatedAt'> & { readonly startedAt: number | null }

const columns = Object.entries(identityColumns).map(([field, { name, type }], index) => {
  return { field: field as keyof IdentityValues, name, type, bit: 1 << index }
})
type Column = (typeof columns)[number]

/** The bit of `written_fields` after those of the fields: the record existed before. */
const existedBit = 1 << columns.length

/** How events name these records. */
export const identityRecords = { kind: 'hrisUserIdentity', noun: 'identity record' } as const
const writtenRecords = sql`select identity_id as key, created_at is null as is_new from written`

const record = sql.raw(
  `("identityId" text, written_fields int, ${columns.map(({ field, type }) => `"${field}" ${type}`).join(', ')})`,
)
const names = sql.raw(columns.map(({ name }) => name).join(', '))
const fields = sql.raw(columns.map(({ field }) => `"${field}"`).join(', '))
const mergedValues = sql.raw(columns.map((column) => `${column.name} = ${mergedValue(column)}`).join(', '))
const isChanged = sql.raw(columns.map(isChangedValue).join(' or '))
const keepable = columns.filter(({ field }) => field !== 'separatedAt')
const isKept = sql.raw(
  `written_fields & ${existedBit} <> 0 and (${keepable.map(({ name, bit }) => `written_fields & ${bit} = 0 and ${name} is not null`).join(' or ')})`,
)
const kept = sql.raw(keepable.map(keptValue).join(', '))
const moments = sql.raw(['separated_at', 'created_at', 'updated_at'].map(momentIfThere).join(', '))

/**
 * Creates, changes or restores the records of submissions with distinct keys, records the events, and returns the records that it
 * wrote. It locks the connection and refuses it as `lockConnectionForShare` does.
 *
 * One statement: it waits for other writers of the same record and merges into their result. It writes rows in key order, so that
 * batches never deadlock. The column `written_fields` holds which fields a submission names.
 */
export async function mergeIdentities(
  db: Kysely<PlatformSchema>,
  ctx: Caller,
  { connectionId, submissions, by }: IdentityBatch,
): Promise<readonly WrittenRecord[]> {
  const connectionRef = { connectionId, type: 'HRIS' } as const
  const { rows } = await sql<WrittenRecord & { id: number | null; provider_type: ProviderType }>`${sql.raw(prepared)}
    with connection as materialized ${connectionForShare(db, ctx, connectionRef)},
    written as (
      insert into hris_user_identities as stored (connection_id, identity_id, written_fields, ${names}, created_at, updated_at)
      select ${connectionId}::bigint, "identityId", written_fields, ${fields}, ${by.at}::timestamptz, ${by.at}::timestamptz
      from json_to_recordset(${JSON.stringify(submissions.map(recordWithFields))}::json) as record ${record}, connection
      where connection.provider_type = ${connectionRef.type}
      order by "identityId" collate "C"
      on conflict (connection_id, identity_id) do update
      set ${mergedValues}, written_fields = excluded.written_fields | ${sql.raw(String(existedBit))},
        updated_at = greatest(stored.updated_at, excluded.updated_at), deleted_at = null, changed_in = pg_current_xact_id()
      where stored.deleted_at is not null or ${isChanged}
      returning id, identity_id, case when ${isKept} then json_build_object(${kept}) end as kept, ${moments}
    ),
    events as (${dataRecordEventsInsert(by, { ...identityRecords, connectionId, records: writtenRecords })})
    select provider_type, written.* from connection left join written on true
  `.execute(db)
  checkConnection(connectionRef, rows[0])
  return rows.filter(({ id }) => id !== null)
}

// An absent field keeps its value and null clears it. Only null replaces a stored leaving date.
function mergedValue({ name, bit }: Column): string {
  const stays = `case when excluded.written_fields & ${bit} = 0 then stored.${name}`
  if (name !== 'separated_at') return `${stays} else excluded.${name} end`
  return `${stays} when excluded.${name} is not null then coalesce(stored.${name}, excluded.${name}) end`
}

function isChangedValue({ name, bit }: Column): string {
  if (name !== 'separated_at')
    return `excluded.written_fields & ${bit} <> 0 and stored.${name} is distinct from excluded.${name}`
  return `excluded.written_fields & ${bit} <> 0 and (stored.${name} is null) <> (excluded.${name} is null)`
}

function keptValue({ field, name, type, bit }: Column): string {
  return `'${field}', case when written_fields & ${bit} = 0 then ${type === 'timestamptz' ? milliseconds(name) : name} end`
}

function momentIfThere(name: string): string {
  return `case when written_fields & ${existedBit} <> 0 then ${milliseconds(name)} end as ${name}`
}

function milliseconds(name: string): string {
  return `date_part('epoch', ${name}) * 1000`
}

/** The fields that a submission names, and their bits in `written_fields`. */
function recordWithFields({ identityId, values }: Submission): Readonly<Record<string, unknown>> {
  let bits = 0
  for (const { field, bit } of columns) {
    if (values[field] !== undefined) bits |= bit
  }
  return { ...values, identityId, written_fields: bits }
}
