import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import { type Identity, type IdentityRef, identityIdOf } from '../../contract/platform/hris-user-identities.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'

type IdentityRow = Selectable<PlatformSchema['hris_user_identities']>

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
    .where(matchesReference(reference))
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
    .where(matchesReference(reference))
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export function presentIdentity(row: IdentityRow): Identity {
  return {
    id: row.id,
    identityId: row.identity_id,
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
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

function isFindable(reference: IdentityRef): boolean {
  return typeof reference === 'number' || isStorableText(reference)
}

function matchesReference(reference: IdentityRef): RawBuilder<boolean> {
  const identityId = identityIdOf(reference)
  return identityId === null ? sql<boolean>`id = ${reference}` : sql<boolean>`identity_id = ${identityId}`
}
