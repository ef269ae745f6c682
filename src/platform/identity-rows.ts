import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import { type Identity, type IdentityRef, identityIdOf } from '../contract/hris-user-identities.ts'
import type { IdentityValues } from './merge-identity.ts'
import type { PlatformSchema } from './schema.ts'
import { isStorableText } from './storable-json.ts'

// Statistics lag behind a first load, and a planner that takes a connection for empty reads all of it for each batch.
// So the statements of a batch are written in forms that reach every key through its index: a subquery with `limit`,
// a lateral one with a lock, and `on conflict`.

export type IdentityRow = Selectable<PlatformSchema['hris_user_identities']>

/** A record as it is to be stored; instants are ISO 8601 in UTC. */
export type IdentityWrite = { readonly identityId: string; readonly values: IdentityValues; readonly updatedAt: string }

/** How the columns of a record arrive in the JSON array of `writeRows`. */
const recordColumns = sql`
  identity_id text, email text, secondary_email text, first_name text, last_name text, job_title text, manager_id text,
  manager_name text, started_at timestamptz, separated_at timestamptz, is_contractor boolean, updated_at timestamptz
`

/** The live record that a path names, or undefined. */
export async function findIdentity(
  db: Kysely<PlatformSchema>,
  connectionId: number,
  reference: IdentityRef,
): Promise<IdentityRow | undefined> {
  if (!isFindable(reference)) return undefined
  return db
    .selectFrom('hris_user_identities')
    .selectAll()
    .where('connection_id', '=', connectionId)
    .where(named(reference))
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** As `findIdentity`, and holds the record until the transaction ends. */
export async function lockIdentity(
  trx: Kysely<PlatformSchema>,
  connectionId: number,
  reference: IdentityRef,
): Promise<IdentityRow | undefined> {
  if (!isFindable(reference)) return undefined
  return trx
    .selectFrom('hris_user_identities')
    .selectAll()
    .where('connection_id', '=', connectionId)
    .where(named(reference))
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Holds the records of these keys, deleted ones too, until the transaction ends. Always in key order, so that batches never wait in a circle. */
export async function lockIdentities(
  trx: Kysely<PlatformSchema>,
  connectionId: number,
  identityIds: readonly string[],
): Promise<IdentityRow[]> {
  if (identityIds.length === 0) return []
  const { rows } = await sql<IdentityRow>`
    select stored.*
    from (select identity_id from unnest(${identityIds}::text[]) as given (identity_id) order by identity_id collate "C") as wanted
    cross join lateral (
      select * from hris_user_identities
      where connection_id = ${connectionId}::bigint and identity_id = wanted.identity_id
      for no key update
    ) as stored
  `.execute(trx)
  return rows
}

/** Which of these keys the connection does not know yet. Holds nothing: another batch may be storing one of them. */
export async function unknownKeys(
  trx: Kysely<PlatformSchema>,
  connectionId: number,
  identityIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ identity_id: string }>`
    select identity_id from unnest(${identityIds}::text[]) as given (identity_id)
    where (
      select known.id from hris_user_identities as known
      where known.connection_id = ${connectionId}::bigint and known.identity_id = given.identity_id
      limit 1
    ) is null
  `.execute(trx)
  return new Set(rows.map((row) => row.identity_id))
}

/** Stores those records whose key is new to the connection, in key order, and answers the id of each. */
export async function insertNewIdentities(
  trx: Kysely<PlatformSchema>,
  connectionId: number,
  records: readonly IdentityWrite[],
): Promise<ReadonlyMap<string, number>> {
  if (records.length === 0) return new Map()
  const { rows } = await sql<{ id: number; identity_id: string }>`
    insert into hris_user_identities (
      connection_id, identity_id, email, secondary_email, first_name, last_name, job_title, manager_id, manager_name,
      started_at, separated_at, is_contractor, created_at, updated_at
    )
    select
      ${connectionId}::bigint, identity_id, email, secondary_email, first_name, last_name, job_title, manager_id, manager_name,
      started_at, separated_at, is_contractor, updated_at, updated_at
    from json_to_recordset(${writeRows(records)}::json) as record (${recordColumns})
    order by record.identity_id collate "C"
    on conflict (connection_id, identity_id) do nothing
    returning id, identity_id
  `.execute(trx)
  return new Map(rows.map((row) => [row.identity_id, row.id]))
}

/** Overwrites records that the caller holds, and brings deleted ones back. Every one of them is there, so nothing is ever inserted. */
export async function updateIdentities(
  trx: Kysely<PlatformSchema>,
  connectionId: number,
  records: readonly IdentityWrite[],
): Promise<void> {
  if (records.length === 0) return
  await sql`
    insert into hris_user_identities as stored (
      id, connection_id, identity_id, email, secondary_email, first_name, last_name, job_title, manager_id, manager_name,
      started_at, separated_at, is_contractor, created_at, updated_at
    )
    overriding system value
    select
      0, ${connectionId}::bigint, identity_id, email, secondary_email, first_name, last_name, job_title, manager_id,
      manager_name, started_at, separated_at, is_contractor, updated_at, updated_at
    from json_to_recordset(${writeRows(records)}::json) as record (${recordColumns})
    on conflict (connection_id, identity_id) do update
    set email = excluded.email, secondary_email = excluded.secondary_email, first_name = excluded.first_name,
        last_name = excluded.last_name, job_title = excluded.job_title, manager_id = excluded.manager_id,
        manager_name = excluded.manager_name, started_at = excluded.started_at, separated_at = excluded.separated_at,
        is_contractor = excluded.is_contractor, updated_at = excluded.updated_at, deleted_at = null,
        changed_in = pg_current_xact_id()
  `.execute(trx)
}

export function valuesOf(row: IdentityRow): IdentityValues {
  return {
    email: row.email,
    secondaryEmail: row.secondary_email,
    firstName: row.first_name,
    lastName: row.last_name,
    jobTitle: row.job_title,
    managerId: row.manager_id,
    managerName: row.manager_name,
    startedAt: row.started_at?.toISOString() ?? null,
    separatedAt: row.separated_at?.toISOString() ?? null,
    isContractor: row.is_contractor,
  }
}

export function presentIdentity(row: IdentityRow): Identity {
  return {
    id: row.id,
    identityId: row.identity_id,
    ...valuesOf(row),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

function isFindable(reference: IdentityRef): boolean {
  return typeof reference === 'number' || isStorableText(reference)
}

function named(reference: IdentityRef): RawBuilder<boolean> {
  const identityId = identityIdOf(reference)
  return identityId === null ? sql<boolean>`id = ${reference}` : sql<boolean>`identity_id = ${identityId}`
}

function writeRows(records: readonly IdentityWrite[]): string {
  return JSON.stringify(
    records.map(({ identityId, values, updatedAt }) => ({
      identity_id: identityId,
      email: values.email,
      secondary_email: values.secondaryEmail,
      first_name: values.firstName,
      last_name: values.lastName,
      job_title: values.jobTitle,
      manager_id: values.managerId,
      manager_name: values.managerName,
      started_at: values.startedAt,
      separated_at: values.separatedAt,
      is_contractor: values.isContractor,
      updated_at: updatedAt,
    })),
  )
}
