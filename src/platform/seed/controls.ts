import type { Kysely } from 'kysely'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type { SeedAccount, SeedEvidence, SeedTest } from './account-document.ts'
import { type CatalogueTable, catalogueIds } from './library.ts'
import { seedPolicyVersions } from './policy-versions.ts'
import { seedWorkspaceControls } from './workspace-controls.ts'

type Trx = Kysely<PlatformSchema>
type WorkspaceContext = { readonly accountId: number; readonly workspaceId: number; readonly now: Date }

type ControlSeed = Pick<SeedAccount, 'policies' | 'workspaces'> & { readonly accountId: number; readonly now: Date }

/** Adds missing policies of an account, and missing frameworks, tests, evidence and controls of its workspaces. */
export async function seedControls(trx: Trx, { accountId, policies, workspaces, now }: ControlSeed): Promise<void> {
  await seedPolicies(trx, { accountId, policies, now })
  await seedPolicyVersions(trx, { accountId, policies, now })
  const workspaceIds = await workspacesByName(trx, accountId)
  for (const { name, frameworks, tests, evidence, controls } of workspaces) {
    const workspaceId = workspaceIds.get(name)
    if (workspaceId === undefined) throw new Error(`the workspace "${name}" was not seeded`)
    const workspace = { accountId, workspaceId, now }
    await enableFrameworks(trx, workspace, frameworks)
    await seedTests(trx, workspace, tests)
    await seedEvidence(trx, workspace, evidence)
    await seedWorkspaceControls(trx, workspace, controls)
  }
}

async function workspacesByName(trx: Trx, accountId: number): Promise<ReadonlyMap<string, number>> {
  const rows = await trx.selectFrom('workspaces').select(['id', 'name']).where('account_id', '=', accountId).execute()
  return new Map(rows.map(({ id, name }) => [name, id]))
}

async function seedPolicies(
  trx: Trx,
  { accountId, policies, now }: Pick<ControlSeed, 'accountId' | 'policies' | 'now'>,
): Promise<void> {
  const templateId = await templateIds(trx, 'policy_templates', policies)
  const rows = policies.map(({ name, description, template, assignedTo, employmentStatuses }) => ({
    account_id: accountId,
    template_id: templateId(template),
    name,
    description,
    assigned_to: assignedTo,
    employment_statuses: employmentStatuses,
    created_at: now,
    updated_at: now,
  }))
  await addRows(trx, 'policies', rows)
}

async function enableFrameworks(
  trx: Trx,
  { workspaceId, now }: WorkspaceContext,
  slugs: readonly string[],
): Promise<void> {
  const frameworkId = await catalogueIds(trx, 'frameworks', slugs)
  const rows = slugs.map((slug) => ({ workspace_id: workspaceId, framework_id: frameworkId(slug), enabled_at: now }))
  await addRows(trx, 'workspace_frameworks', rows)
}

async function seedTests(trx: Trx, { workspaceId, now }: WorkspaceContext, tests: readonly SeedTest[]): Promise<void> {
  const templateId = await templateIds(trx, 'test_templates', tests)
  const rows = tests.map(({ name, template, status, monitored }) => ({
    workspace_id: workspaceId,
    template_id: templateId(template),
    name,
    status,
    is_monitored: monitored,
    created_at: now,
    updated_at: now,
  }))
  await addRows(trx, 'tests', rows)
}

async function seedEvidence(
  trx: Trx,
  { workspaceId, now }: WorkspaceContext,
  evidence: readonly SeedEvidence[],
): Promise<void> {
  const templateId = await templateIds(trx, 'evidence_templates', evidence)
  const rows = evidence.map(({ name, template, kind, validUntil }) => ({
    workspace_id: workspaceId,
    template_id: templateId(template),
    name,
    kind,
    valid_until: validUntil,
    created_at: now,
    updated_at: now,
  }))
  await addRows(trx, 'evidence', rows)
}

async function templateIds(
  trx: Trx,
  table: CatalogueTable,
  made: readonly { readonly template?: string }[],
): Promise<(name: string | undefined) => number | null> {
  const idOf = await catalogueIds(
    trx,
    table,
    made.flatMap(({ template = [] }) => template),
  )
  return (name) => (name === undefined ? null : idOf(name))
}
