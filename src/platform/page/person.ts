import type { Kysely } from 'kysely'
import type { ComplianceCheck, EmploymentStatus } from '../../contract/platform/personnel.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type DocumentRow, documentsOf } from '../documents/documents.ts'
import { complianceChecksOf } from '../people/present-checks.ts'
import { groupsOfPeople } from './people.ts'
import { documentHref } from './query.ts'

/** A document with the path of its file on this page. */
export type ShownDocument = Pick<DocumentRow, 'type' | 'name' | 'created_at' | 'renewal_date'> & {
  readonly href: string
  /** The device that it is about; null: the person. */
  readonly device: string | null
}

/** A policy that is assigned to a person. */
export type ShownPolicy = { readonly name: string; readonly version: number; readonly acceptedAt: Date | null }

/** A custom field of a person with its value. */
type CustomField = { readonly name: string; readonly value: string }

/** A person with everything that the page shows of them. */
export type PersonDetails = {
  readonly name: string
  readonly email: string
  readonly status: EmploymentStatus
  readonly startedAt: Date | null
  readonly separatedAt: Date | null
  /** Why the person is out of scope. */
  readonly reason: string | null
  readonly roles: readonly string[]
  readonly groups: readonly string[]
  readonly customFields: readonly CustomField[]
  readonly checks: readonly ComplianceCheck[]
  readonly documents: readonly ShownDocument[]
  readonly policies: readonly ShownPolicy[]
}

type PersonRequest = { readonly accountId: number; readonly personnelId: number }

/** What the page shows of a person of an account, or null if there is no such person. */
export async function readPerson(
  db: Kysely<PlatformSchema>,
  { accountId, personnelId }: PersonRequest,
): Promise<PersonDetails | null> {
  const row = await db
    .selectFrom('personnel')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', personnelId)
    .executeTakeFirst()
  if (!row) return null
  const user = await db.selectFrom('users').selectAll().where('id', '=', row.user_id).executeTakeFirstOrThrow()
  const checks = await complianceChecksOf({ db }, [row])
  const groups = await groupsOfPeople(db, [row.id])
  const name = [user.first_name, user.last_name].filter((part) => part !== null).join(' ')
  return {
    name: name.trim() === '' ? user.email : name,
    email: user.email,
    status: row.employment_status,
    startedAt: row.started_at,
    separatedAt: row.separated_at,
    reason: row.not_human_reason,
    roles: user.roles,
    groups: groups.get(row.id) ?? [],
    customFields: await readCustomFields(db, row.id),
    checks: checks.get(row.id) ?? [],
    documents: await readDocuments(db, { accountId, personnelId, userId: row.user_id }),
    policies: await readPolicies(db, row.user_id),
  }
}

/** The values of the custom fields that are not hidden. */
async function readCustomFields(db: Kysely<PlatformSchema>, personnelId: number): Promise<CustomField[]> {
  return db
    .selectFrom('custom_field_values as stored')
    .innerJoin('custom_field_definitions as definition', 'definition.id', 'stored.definition_id')
    .select(['definition.name', 'stored.value'])
    .where('stored.entity_type', '=', 'PERSONNEL')
    .where('stored.entity_id', '=', personnelId)
    .where('definition.is_hidden', '=', false)
    .orderBy('definition.id')
    .execute()
}

async function readDocuments(
  db: Kysely<PlatformSchema>,
  { accountId, personnelId, userId }: PersonRequest & { readonly userId: number },
): Promise<ShownDocument[]> {
  const devices = await db
    .selectFrom('devices')
    .select(['id', 'alias', 'model', 'serial_number'])
    .where('personnel_id', '=', personnelId)
    .execute()
  const labels = new Map(
    devices.map(({ id, alias, model, serial_number }) => [id, alias ?? model ?? serial_number ?? `Device ${id}`]),
  )
  const documents = [
    ...(await documentsOf(db, 'user_id', [userId])),
    ...(await documentsOf(db, 'device_id', [...labels.keys()])),
  ]
  return documents.map((document) => ({
    ...document,
    href: documentHref(accountId, document.id),
    device: document.device_id === null ? null : (labels.get(document.device_id) ?? null),
  }))
}

async function readPolicies(db: Kysely<PlatformSchema>, userId: number): Promise<ShownPolicy[]> {
  const rows = await db
    .selectFrom('assigned_policies as assigned')
    .innerJoin('policies as policy', 'policy.id', 'assigned.policy_id')
    .innerJoin('policy_versions as version', 'version.id', 'assigned.policy_version_id')
    .select(['policy.name', 'version.version', 'assigned.accepted_at'])
    .where('assigned.user_id', '=', userId)
    .where('assigned.is_assigned', '=', true)
    .orderBy('policy.name')
    .execute()
  return rows.map(({ name, version, accepted_at }) => ({ name, version, acceptedAt: accepted_at }))
}

/** The id of a document about somebody of an account or about their device, or null if there is none. */
export async function findDocumentOf(
  db: Kysely<PlatformSchema>,
  { accountId, documentId }: { readonly accountId: number; readonly documentId: number },
): Promise<{ readonly id: number } | null> {
  const document = await db
    .selectFrom('documents as document')
    .leftJoin('devices as device', 'device.id', 'document.device_id')
    .innerJoin('personnel as person', (join) =>
      join.on((eb) =>
        eb.or([
          eb('person.user_id', '=', eb.ref('document.user_id')),
          eb('person.id', '=', eb.ref('device.personnel_id')),
        ]),
      ),
    )
    .select('document.id')
    .where('person.account_id', '=', accountId)
    .where('document.id', '=', documentId)
    .executeTakeFirst()
  return document ?? null
}
