import { type Kysely, type Selectable, sql } from 'kysely'
import { type Identity, type IdentityRef, identityIdOf } from '../../contract/platform/hris-user-identities.ts'
import { presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'

type IdentityRow = Selectable<PlatformSchema['hris_user_identities']>

/** The live record of that reference, or undefined. */
export async function findIdentity(
  db: Kysely<PlatformSchema>,
  connectionId: number,
  reference: IdentityRef,
): Promise<IdentityRow | undefined> {
  return identityQuery(db, connectionId, reference)?.executeTakeFirst()
}

/** As `findIdentity`, and locks the record until the transaction ends. */
export async function lockIdentity(
  trx: Kysely<PlatformSchema>,
  connectionId: number,
  reference: IdentityRef,
): Promise<IdentityRow | undefined> {
  return identityQuery(trx, connectionId, reference)?.forNoKeyUpdate().executeTakeFirst()
}

/** A record as responses carry it. */
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
    ...presentTimes(row),
  }
}

function identityQuery(db: Kysely<PlatformSchema>, connectionId: number, reference: IdentityRef) {
  const identityId = identityIdOf(reference)
  if (identityId !== null && !isStorableText(identityId)) return undefined
  return db
    .selectFrom('hris_user_identities')
    .selectAll()
    .where('connection_id', '=', connectionId)
    .where(identityId === null ? sql<boolean>`id = ${reference}` : sql<boolean>`identity_id = ${identityId}`)
    .where('deleted_at', 'is', null)
}
