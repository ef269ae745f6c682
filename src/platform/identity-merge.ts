import { type Kysely, sql } from 'kysely'
import { prepared } from '../database/prepared.ts'
import type { Submission } from './identity-items.ts'
import { type IdentityValues, identityColumns } from './identity-values.ts'
import type { PlatformSchema } from './schema.ts'

/**
 * A record that a submission created or changed. Of its fields only those that the submission did not name, and of one that was there the
 * leaving date and its moments. Instants are milliseconds since 1970.
 */
export type Written = {
  readonly id: number
  readonly identity_id: string
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
  /** Null for one that was created now. */
  readonly created_at: number | null
  readonly updated_at: number | null
}

const columns = Object.entries(identityColumns).map(([field, { name, type }], place) => {
  return { field: field as keyof IdentityValues, name, type, bit: 1 << place }
})
type Column = (typeof columns)[number]

/** Beside the bits of the fields in the column `given`: the record was there before. */
const wasThere = 1 << columns.length

const record = sql.raw(
  `(identity_id text, given int, ${columns.map(({ name, type }) => `${name} ${type}`).join(', ')})`,
)
const names = sql.raw(columns.map(({ name }) => name).join(', '))
const mergedValues = sql.raw(columns.map((column) => `${column.name} = ${mergedValue(column)}`).join(', '))
const isChanged = sql.raw(columns.map(isChangedValue).join(' or '))
const answers = sql.raw([...columns.map(answer), ...['created_at', 'updated_at'].map(answerIfThere)].join(', '))

/**
 * Creates, changes and brings back the records of these submissions, whose keys are distinct, and answers those that were written. One
 * statement, which knows of each record what it is at that moment: whoever writes the same one meanwhile is waited for. Rows are
 * written in key order, so that batches never wait in a circle. The column `given` tells the statement which fields a submission names.
 */
export async function mergeIdentities(
  trx: Kysely<PlatformSchema>,
  { connectionId, submissions, now }: { connectionId: number; submissions: readonly Submission[]; now: Date },
): Promise<Written[]> {
  const { rows } = await sql<Written>`${sql.raw(prepared)}
    insert into hris_user_identities as stored (connection_id, identity_id, given, ${names}, created_at, updated_at)
    select ${connectionId}::bigint, identity_id, given, ${names}, ${now}::timestamptz, ${now}::timestamptz
    from json_to_recordset(${JSON.stringify(submissions.map(givenRecord))}::json) as record ${record}
    order by identity_id collate "C"
    on conflict (connection_id, identity_id) do update
    set ${mergedValues}, given = excluded.given | ${sql.raw(String(wasThere))},
      updated_at = greatest(stored.updated_at, excluded.updated_at), deleted_at = null, changed_in = pg_current_xact_id()
    where stored.deleted_at is not null or ${isChanged}
    returning id, identity_id, ${answers}
  `.execute(trx)
  return rows
}

// Absent fields stay and null clears, but a stored leaving date only gives way to null.
function mergedValue({ name, bit }: Column): string {
  const stays = `case when excluded.given & ${bit} = 0 then stored.${name}`
  if (name !== 'separated_at') return `${stays} else excluded.${name} end`
  return `${stays} when excluded.${name} is not null then coalesce(stored.${name}, excluded.${name}) end`
}

function isChangedValue({ name, bit }: Column): string {
  if (name !== 'separated_at')
    return `excluded.given & ${bit} <> 0 and stored.${name} is distinct from excluded.${name}`
  return `excluded.given & ${bit} <> 0 and (stored.${name} is null) <> (excluded.${name} is null)`
}

function answer({ name, type, bit }: Column): string {
  if (name === 'separated_at') return answerIfThere(name)
  return `case when given & ${bit} = 0 then ${type === 'timestamptz' ? milliseconds(name) : name} end as ${name}`
}

function answerIfThere(name: string): string {
  return `case when given & ${wasThere} <> 0 then ${milliseconds(name)} end as ${name}`
}

function milliseconds(name: string): string {
  return `date_part('epoch', ${name}) * 1000`
}

/** The fields that a submission names, by column, and in `given` which they are. */
function givenRecord({ identityId, values }: Submission): Readonly<Record<string, unknown>> {
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
