import { type Kysely, sql } from 'kysely'
import { prepared } from '../database/prepared.ts'
import type { Submission } from './identity-items.ts'
import { type IdentityValues, identityColumns } from './identity-values.ts'
import type { PlatformSchema } from './schema.ts'

/**
 * What became of a submission; of one that changed something, the record as it is now, with instants in milliseconds since 1970.
 * `id` is null where somebody else changed the record meanwhile, and nothing was written.
 */
export type Merged = { readonly identity_id: string; readonly created: boolean } & (
  | { readonly changed: false }
  | {
      readonly changed: true
      readonly id: number | null
      readonly email: string | null
      readonly secondary_email: string | null
      readonly first_name: string | null
      readonly last_name: string | null
      readonly job_title: string | null
      readonly manager_id: string | null
      readonly manager_name: string | null
      readonly started_at: number | null
      readonly separated_at: number | null
      readonly is_contractor: boolean | null
      readonly created_at: number
      readonly updated_at: number
    }
)

const columns = Object.entries(identityColumns).map(([field, { name, type }], place) => {
  return { field: field as keyof IdentityValues, name, type, bit: 1 << place }
})
type Column = (typeof columns)[number]

const record = sql.raw(
  `(identity_id text, given int, ${columns.map(({ name, type }) => `${name} ${type}`).join(', ')})`,
)
const names = sql.raw(columns.map(({ name }) => name).join(', '))
const mergedValues = sql.raw(columns.map((column) => `${mergedValue(column)} as ${column.name}`).join(', '))
const isChanged = sql.raw(columns.map(isChangedValue).join(' or '))
const overwrites = sql.raw(columns.map(({ name }) => `${name} = excluded.${name}`).join(', '))
const writtenValues = sql.raw(columns.map(answeredValue).join(', '))

/**
 * Creates, changes and brings back the records of these submissions, whose keys are distinct, in one statement. The records are found
 * through their index, one by one: statistics lag behind a first load, and a planner that takes a connection for empty reads all of it.
 * Nothing is held while the records are merged, so one that changed since, whose `changed_in` is another, stays as it is. Rows are
 * written in key order, so that batches never wait in a circle.
 */
export async function mergeIdentities(
  trx: Kysely<PlatformSchema>,
  { connectionId, submissions, now }: { connectionId: number; submissions: readonly Submission[]; now: Date },
): Promise<Merged[]> {
  // The id of a row that is there is written as 0, which uses up no number of the sequence.
  const { rows } = await sql<Merged>`${sql.raw(prepared)}
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(submissions.map(writtenRecord))}::json) as record ${record}
    ), merged as materialized (
      select given.identity_id, stored.id is null as created, stored.changed_in, ${mergedValues},
        greatest(stored.updated_at, ${now}::timestamptz) as updated_at,
        stored.id is null or stored.deleted_at is not null or ${isChanged} as changed
      from given left join lateral (
        select * from hris_user_identities as known
        where known.connection_id = ${connectionId}::bigint and known.identity_id = given.identity_id
        limit 1
      ) as stored on true
    ), written as (
      insert into hris_user_identities as stored
        (id, connection_id, identity_id, ${names}, created_at, updated_at, changed_in)
      overriding system value
      select case when created then nextval('hris_user_identities_id_seq') else 0 end, ${connectionId}::bigint, identity_id, ${names},
        ${now}::timestamptz, updated_at, coalesce(changed_in, pg_current_xact_id())
      from merged
      where changed
      order by identity_id collate "C"
      on conflict (connection_id, identity_id) do update
      set ${overwrites}, updated_at = excluded.updated_at, deleted_at = null, changed_in = pg_current_xact_id()
      where stored.changed_in = excluded.changed_in
      returning stored.*
    )
    select merged.identity_id, merged.created, merged.changed, written.id, ${writtenValues},
      (extract(epoch from written.created_at) * 1000)::float8 as created_at,
      (extract(epoch from written.updated_at) * 1000)::float8 as updated_at
    from merged left join written on merged.changed and written.identity_id = merged.identity_id
  `.execute(trx)
  return rows
}

// Absent fields stay and null clears, but a stored leaving date only gives way to null.
function mergedValue({ name, bit }: Column): string {
  if (name !== 'separated_at') return `case when given & ${bit} = 0 then stored.${name} else given.${name} end`
  const sent = `case when given.${name} is not null then coalesce(stored.${name}, given.${name}) end`
  return `case when given & ${bit} = 0 then stored.${name} else ${sent} end`
}

function isChangedValue({ name, bit }: Column): string {
  if (name !== 'separated_at') return `given & ${bit} <> 0 and stored.${name} is distinct from given.${name}`
  return `given & ${bit} <> 0 and (stored.${name} is null) <> (given.${name} is null)`
}

function answeredValue({ name, type }: Column): string {
  return type === 'timestamptz' ? `(extract(epoch from written.${name}) * 1000)::float8 as ${name}` : `written.${name}`
}

/** The fields that a submission names, by column, and in `given` which they are. */
function writtenRecord({ identityId, values }: Submission): Readonly<Record<string, unknown>> {
  const written: Record<string, unknown> = { identity_id: identityId, given: 0 }
  let given = 0
  for (const { field, name, bit } of columns) {
    const value = values[field]
    if (value === undefined) continue
    written[name] = value
    given |= bit
  }
  written.given = given
  return written
}
