import { type Kysely, sql } from 'kysely'
import { recordOpening } from '../accounts/accounts.ts'
import { addEntitlements } from '../accounts/entitlements.ts'
import type { NewAudit } from '../audits/audit-input.ts'
import { type AuditWriteContext, insertAudit, insertRequests } from '../audits/insert-audit.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { operatorActor, storeEvent } from '../events/store-events.ts'
import type { SeedAccount, SeedCompany, SeedCustomField, SeedWorkspace } from './account-document.ts'
import { seedControls } from './controls.ts'
import type { SeedDocument, SeedResult } from './document.ts'
import { seedGroups, seedPolicyGroups, seedScopes } from './groups.ts'
import { seedLibrary } from './library.ts'

const command = 'seed'

type SeedContext = { readonly accountId: number; readonly now: Date }

/** Adds the objects of a seed that do not exist, in one transaction. Existing ones do not change, so that a second time adds nothing. */
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
      const seeding = { accountId: id, now }
      const company = account.company && (await seedCompany(trx, seeding, account.company))
      const workspaces = await seedWorkspaces(trx, seeding, account.workspaces)
      const people = await seedPeople(trx, seeding, account.people)
      await seedGroups(trx, seeding, account.identityProviders)
      await seedScopes(trx, seeding, account.workspaces)
      await recordSeed(trx, seeding, { company: company ? 1 : 0, workspaces, people })
      added.workspaces += workspaces
      added.people += people
      await seedCustomFields(trx, seeding, account.customFields)
      await seedControls(trx, { ...seeding, policies: account.policies, workspaces: account.workspaces })
      await seedPolicyGroups(trx, seeding, account.policies)
      await seedAudits(trx, seeding, account.workspaces)
      await refreshCompliance(trx, { accountId: id, at: now })
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
  { accountId, now }: SeedContext,
  added: Readonly<Record<string, number>>,
): Promise<void> {
  const counts = Object.entries(added).filter(([, count]) => count > 0)
  if (counts.length === 0) return
  await storeEvent(
    trx,
    { accountId, actor: operatorActor(command), at: now },
    {
      type: 'COMPANY_DATA_UPDATED',
      description: `A seed added to the account: ${counts.map(([noun, count]) => `${noun} ${count}`).join(', ')}`,
      target: { kind: 'account', id: accountId },
    },
  )
}

/** Stores the company of an account; returns false if the account has one. */
async function seedCompany(
  trx: Kysely<PlatformSchema>,
  { accountId, now }: SeedContext,
  company: SeedCompany,
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
  { accountId, now }: SeedContext,
  workspaces: readonly SeedWorkspace[],
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

// Their status is UNKNOWN until the identity sync finds an HR record for them.
async function seedPeople(
  trx: Kysely<PlatformSchema>,
  { accountId, now }: SeedContext,
  people: SeedAccount['people'],
): Promise<number> {
  const rows = people.map(({ email, firstName, lastName, title, roles }) => ({
    account_id: accountId,
    email,
    first_name: firstName,
    last_name: lastName,
    job_title: title,
    origin: 'operator' as const,
    roles: ['EMPLOYEE' as const, ...roles.filter((role) => role !== 'EMPLOYEE')],
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

/** Adds the custom fields whose names are new in the account. */
async function seedCustomFields(
  trx: Kysely<PlatformSchema>,
  { accountId, now }: SeedContext,
  customFields: readonly SeedCustomField[],
): Promise<void> {
  if (customFields.length === 0) return
  const known = await trx
    .selectFrom('custom_field_definitions')
    .select('name')
    .where('account_id', '=', accountId)
    .where(sql<boolean>`name = any(${customFields.map(({ name }) => name)}::text[])`)
    .execute()
  const names = new Set(known.map(({ name }) => name))
  const rows = customFields
    .filter(({ name }) => !names.has(name))
    .map(({ name, type, entityTypes, required, description, hidden, currencyCode }) => ({
      account_id: accountId,
      name,
      type,
      entity_types: entityTypes,
      is_required: required,
      description,
      is_hidden: hidden,
      currency_code: currencyCode,
      created_at: now,
      updated_at: now,
    }))
  const added = await addRows(trx, 'custom_field_definitions', rows)
  const optionsOf = new Map(customFields.map(({ name, options }) => [name, options]))
  const optionRows = added.flatMap(({ id, name }) =>
    (optionsOf.get(name) ?? []).map((value) => ({ definition_id: id, value })),
  )
  await addRows(trx, 'custom_field_options', optionRows)
}

/** Adds missing audits and requests. Their workspaces, people and controls must exist. */
async function seedAudits(
  trx: Kysely<PlatformSchema>,
  { accountId, now }: SeedContext,
  workspaces: readonly SeedWorkspace[],
): Promise<void> {
  for (const { name, audits } of workspaces.filter((workspace) => workspace.audits.length > 0)) {
    const { id } = await trx
      .selectFrom('workspaces')
      .select('id')
      .where('account_id', '=', accountId)
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
    const writeContext = { accountId, workspaceId: id, command: 'platform seed', now }
    for (const audit of audits) await seedAudit(trx, audit, writeContext)
  }
}

async function seedAudit(trx: Kysely<PlatformSchema>, audit: NewAudit, writeContext: AuditWriteContext): Promise<void> {
  const inserted = await insertAudit(trx, audit, writeContext)
  const { id } =
    inserted ??
    (await trx
      .selectFrom('audits')
      .select('id')
      .where('workspace_id', '=', writeContext.workspaceId)
      .where('framework_type', '=', audit.framework)
      .where('start_date', '=', audit.startDate)
      .where('end_date', '=', audit.endDate)
      .executeTakeFirstOrThrow())
  await insertRequests(trx, id, { requests: audit.requests, writeContext })
}
