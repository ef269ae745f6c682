import { type Kysely, sql } from 'kysely'
import { recordOpening } from '../accounts/accounts.ts'
import { addEntitlements } from '../accounts/entitlements.ts'
import type { NewAudit } from '../audits/audit-input.ts'
import { insertAudit, insertRequests, type AuditWriteContext } from '../audits/insert-audit.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { operatorActor, storeEvent } from '../events/store-events.ts'
import type { SeedAccount, SeedCompany, SeedCustomField, SeedWorkspace } from './account-document.ts'
import { seedControls } from './controls.ts'
import type { SeedDocument, SeedResult } from './document.ts'
import { seedLibrary } from './library.ts'

const command = 'seed'

/** Adds what the document names and the database lacks; what is there stays as it is, so a second time adds nothing. */
export async function seed(
  db: Kysely<PlatformSchema>,
  { library, accounts }: SeedDocument,
  now: Date,
): Promise<SeedResult> {
  return db.transaction().execute(async (trx) => {
    if (library) await seedLibrary(trx, library, now)
    const added = { accounts: 0, workspaces: 0, people: 0 }
    for (const account of accounts) {
      const { id, isNew } = await seedAccount(trx, account, now)
      added.accounts += isNew ? 1 : 0
      const company = account.company && (await seedCompany(trx, { accountId: id, company: account.company, now }))
      const workspaces = await seedWorkspaces(trx, { accountId: id, workspaces: account.workspaces, now })
      const people = await seedPeople(trx, { accountId: id, people: account.people, now })
      await recordSeed(trx, { accountId: id, added: { company: company ? 1 : 0, workspaces, people }, now })
      added.workspaces += workspaces
      added.people += people
      await seedCustomFields(trx, { accountId: id, customFields: account.customFields, now })
      await seedControls(trx, { accountId: id, policies: account.policies, workspaces: account.workspaces, now })
      await seedAudits(trx, { accountId: id, workspaces: account.workspaces, now })
    }
    return added
  })
}

async function seedAccount(
  trx: Kysely<PlatformSchema>,
  account: SeedAccount,
  now: Date,
): Promise<{ id: number; isNew: boolean }> {
  const inserted = await trx
    .insertInto('accounts')
    .values({ name: account.name, terms_accepted_at: account.termsAcceptedAt, created_at: now })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('id')
    .executeTakeFirst()
  const { id } =
    inserted ??
    (await trx.selectFrom('accounts').select('id').where('name', '=', account.name).executeTakeFirstOrThrow())
  const seeding = { accountId: id, command, now }
  if (inserted) await recordOpening(trx, { ...seeding, isAccepted: account.termsAcceptedAt !== null })
  await addEntitlements(trx, { ...seeding, names: account.entitlements })
  return { id, isNew: inserted !== undefined }
}

async function recordSeed(
  trx: Kysely<PlatformSchema>,
  { accountId, added, now }: { accountId: number; added: Readonly<Record<string, number>>; now: Date },
): Promise<void> {
  const counts = Object.entries(added).filter(([, count]) => count > 0)
  if (counts.length === 0) return
  await storeEvent(
    trx,
    { accountId, actor: operatorActor(command), at: now },
    {
      type: 'COMPANY_DATA_UPDATED',
      description: `A seed added to the account: ${counts.map(([what, count]) => `${what} ${count}`).join(', ')}`,
      target: { kind: 'account', id: accountId },
    },
  )
}

/** Keeps what the seed says about the company behind an account; false if the platform knows the company already. */
async function seedCompany(
  trx: Kysely<PlatformSchema>,
  { accountId, company, now }: { accountId: number; company: SeedCompany; now: Date },
): Promise<boolean> {
  const inserted = await trx
    .insertInto('companies')
    .values({
      account_id: accountId,
      domain: company.domain,
      legal_name: company.legalName,
      description: company.description,
      logo_url: company.logoUrl,
      security_training: company.securityTraining,
      hipaa_training: company.hipaaTraining,
      background_check: company.backgroundCheck,
      agent_enabled: company.agentEnabled,
      manual_upload_enabled: company.manualUploadEnabled,
      language: company.language,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.column('account_id').doNothing())
    .returning('account_id')
    .execute()
  return inserted.length > 0
}

async function seedWorkspaces(
  trx: Kysely<PlatformSchema>,
  { accountId, workspaces, now }: { accountId: number; workspaces: SeedAccount['workspaces']; now: Date },
): Promise<number> {
  const rows = workspaces.map(({ name, primary, description, howItWorks, url }) => ({
    account_id: accountId,
    is_primary: primary,
    name,
    description,
    how_it_works: howItWorks,
    url,
    logo: null,
    created_at: now,
    updated_at: now,
  }))
  return (await addRows(trx, 'workspaces', rows)).length
}

// It is unknown whether they work here until the identity sync finds an HR record for them.
async function seedPeople(
  trx: Kysely<PlatformSchema>,
  { accountId, people, now }: { accountId: number; people: SeedAccount['people']; now: Date },
): Promise<number> {
  const rows = people.map(({ email, firstName, lastName, title }) => ({
    account_id: accountId,
    email,
    first_name: firstName,
    last_name: lastName,
    job_title: title,
    origin: 'operator' as const,
    created_at: now,
    updated_at: now,
  }))
  const users = await addRows(trx, 'users', rows)
  const entries = users.map(({ id }) => ({
    account_id: accountId,
    user_id: id,
    employment_status: 'UNKNOWN' as const,
    started_at: null,
    separated_at: null,
    status_updated_at: null,
    not_human_reason: null,
    reason_provider_id: null,
    created_at: now,
    updated_at: now,
  }))
  await addRows(trx, 'personnel', entries)
  return users.length
}

/** Adds the fields whose names the account has none of yet; returns how many. */
async function seedCustomFields(
  trx: Kysely<PlatformSchema>,
  { accountId, customFields, now }: { accountId: number; customFields: readonly SeedCustomField[]; now: Date },
): Promise<number> {
  if (customFields.length === 0) return 0
  const known = await trx
    .selectFrom('custom_field_definitions')
    .select('name')
    .where('account_id', '=', accountId)
    .where(sql<boolean>`name = any(${customFields.map(({ name }) => name)}::text[])`)
    .execute()
  const names = new Set(known.map(({ name }) => name))
  const rows = customFields
    .filter(({ name }) => !names.has(name))
    .map(({ name, type, entityTypes, required }) => ({
      account_id: accountId,
      name,
      type,
      entity_types: entityTypes,
      is_required: required,
      created_at: now,
      updated_at: now,
    }))
  return (await addRows(trx, 'custom_field_definitions', rows)).length
}

/** Adds the audits and requests that are not there yet; returns how many audits. Workspaces, people and controls come before. */
async function seedAudits(
  trx: Kysely<PlatformSchema>,
  { accountId, workspaces, now }: { accountId: number; workspaces: readonly SeedWorkspace[]; now: Date },
): Promise<number> {
  let added = 0
  for (const { name, audits } of workspaces.filter((workspace) => workspace.audits.length > 0)) {
    const { id } = await trx
      .selectFrom('workspaces')
      .select('id')
      .where('account_id', '=', accountId)
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
    const writing = { accountId, workspaceId: id, command: 'platform seed', now }
    for (const audit of audits) added += (await seedAudit(trx, audit, writing)) ? 1 : 0
  }
  return added
}

async function seedAudit(trx: Kysely<PlatformSchema>, audit: NewAudit, writing: AuditWriteContext): Promise<boolean> {
  const inserted = await insertAudit(trx, audit, writing)
  const { id } =
    inserted ??
    (await trx
      .selectFrom('audits')
      .select('id')
      .where('workspace_id', '=', writing.workspaceId)
      .where('framework_type', '=', audit.framework)
      .where('start_date', '=', audit.startDate)
      .where('end_date', '=', audit.endDate)
      .executeTakeFirstOrThrow())
  await insertRequests(trx, id, { requests: audit.requests, writing })
  return inserted !== null
}
