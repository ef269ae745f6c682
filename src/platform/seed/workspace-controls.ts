import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import { slugOf } from '../controls/create-control.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { codeOf, type SeedControl } from './account-document.ts'
import { catalogueIds, requirementIds } from './library.ts'

type Trx = Kysely<PlatformSchema>
type WorkspaceContext = { readonly accountId: number; readonly workspaceId: number; readonly now: Date }
type Template = Selectable<PlatformSchema['control_templates']>
type NewControl = { readonly id: number; readonly control: SeedControl }

/** Adds the controls whose codes are new in the workspace, with their owners, notes and mappings. */
export async function seedWorkspaceControls(
  trx: Trx,
  workspace: WorkspaceContext,
  controls: readonly SeedControl[],
): Promise<void> {
  const added = await addControls(trx, workspace, controls)
  if (added.length === 0) return
  await addOwnersAndNotes(trx, workspace, added)
  await addListedMappings(trx, workspace, added)
  await addTemplateMappings(trx, workspace, added)
}

async function addControls(
  trx: Trx,
  workspace: WorkspaceContext,
  controls: readonly SeedControl[],
): Promise<NewControl[]> {
  const templates = await templatesOf(trx, controls)
  const rows = await addRows(
    trx,
    'controls',
    controls.map((control) => controlRow(workspace, control, templates.get(control.template ?? ''))),
  )
  const byCode = new Map(controls.map((control) => [codeOf(control), control]))
  return rows.flatMap(({ id, code }) => {
    const control = byCode.get(code)
    return control ? [{ id, control }] : []
  })
}

async function templatesOf(trx: Trx, controls: readonly SeedControl[]): Promise<ReadonlyMap<string, Template>> {
  const codes = controls.flatMap(({ template = [] }) => template)
  const templateId = await catalogueIds(trx, 'control_templates', codes)
  const rows = await trx
    .selectFrom('control_templates')
    .selectAll()
    .where(sql<boolean>`id = any(${codes.map(templateId)}::bigint[])`)
    .execute()
  return new Map(rows.map((row) => [row.code, row]))
}

function controlRow(
  { accountId, workspaceId, now }: WorkspaceContext,
  control: SeedControl,
  template: Template | undefined,
) {
  const name = control.name ?? template?.name ?? codeOf(control)
  return {
    account_id: accountId,
    workspace_id: workspaceId,
    template_id: template?.id ?? null,
    code: codeOf(control),
    name,
    slug: slugOf(name),
    description: control.description ?? template?.description ?? null,
    question: control.question ?? template?.question ?? null,
    activity: control.activity ?? template?.activity ?? null,
    archived_at: control.archived ? now : null,
    rationale: control.archived?.rationale ?? null,
    is_enabled: control.enabled,
    ticket_status: control.ticket ?? null,
    created_at: now,
    updated_at: now,
  }
}

async function addOwnersAndNotes(
  trx: Trx,
  { accountId, now }: WorkspaceContext,
  added: readonly NewControl[],
): Promise<void> {
  const userId = await usersByEmail(
    trx,
    accountId,
    added.flatMap(({ control: { owners, notes } }) => [...owners, ...notes.map(({ by }) => by)]),
  )
  await addRows(
    trx,
    'control_owners',
    added.flatMap(({ id, control: { owners } }) =>
      owners.map((email) => ({ control_id: id, user_id: userId(email), created_at: now })),
    ),
  )
  await addRows(
    trx,
    'control_notes',
    added.flatMap(({ id, control: { notes } }) =>
      notes.map(({ by, comment }) => ({
        control_id: id,
        owner_id: userId(by),
        comment,
        created_at: now,
        updated_at: now,
      })),
    ),
  )
}

async function usersByEmail(
  trx: Trx,
  accountId: number,
  emails: readonly string[],
): Promise<(email: string) => number> {
  const { rows } = await sql<{ id: number; email: string }>`
    select users.id, listed.email from unnest(${[...new Set(emails)]}::text[]) as listed (email)
    join users on users.account_id = ${accountId} and fold_case(users.email) = fold_case(listed.email)
  `.execute(trx)
  return requireId(new Map(rows.map(({ id, email }) => [email, id])), 'person')
}

/** Stores the policies, tests, evidence and requirements that the controls list. */
async function addListedMappings(
  trx: Trx,
  { accountId, workspaceId }: WorkspaceContext,
  added: readonly NewControl[],
): Promise<void> {
  const policyId = await idsByName(trx, 'policies', sql`account_id = ${accountId}`)
  const testId = await idsByName(trx, 'tests', sql`workspace_id = ${workspaceId}`)
  const evidenceId = await idsByName(trx, 'evidence', sql`workspace_id = ${workspaceId} and not is_uploaded`)
  const requirementId = await requirementIds(
    trx,
    added.flatMap(({ control }) => Object.keys(control.requirements ?? {})),
  )
  await addRows(
    trx,
    'control_policies',
    added.flatMap(({ id, control: { policies = [] } }) =>
      policies.map((name) => ({ control_id: id, policy_id: policyId(name) })),
    ),
  )
  await addRows(
    trx,
    'control_tests',
    added.flatMap(({ id, control: { tests = [] } }) =>
      tests.map((name) => ({ control_id: id, test_id: testId(name) })),
    ),
  )
  await addRows(
    trx,
    'control_evidence',
    added.flatMap(({ id, control: { evidence = [] } }) =>
      evidence.map((name) => ({ control_id: id, evidence_id: evidenceId(name) })),
    ),
  )
  await addRows(
    trx,
    'control_requirements',
    added.flatMap(({ id, control: { requirements = {} } }) =>
      Object.entries(requirements).flatMap(([slug, names]) =>
        names.map((name) => ({ control_id: id, requirement_id: requirementId(slug, name) })),
      ),
    ),
  )
}

/** The ids of the rows of a table by name. The result throws for a name that is not there. */
export async function idsByName(
  trx: Trx,
  table: 'policies' | 'tests' | 'evidence',
  where: RawBuilder<unknown>,
): Promise<(name: string) => number> {
  const { rows } = await sql<{ id: number; name: string }>`
    select id, name from ${sql.table(table)} where ${where}
  `.execute(trx)
  return requireId(new Map(rows.map(({ id, name }) => [name, id])), table)
}

// The check of the seed document ensures that everything a control names was seeded before it.
function requireId(ids: ReadonlyMap<string, number>, noun: string): (name: string) => number {
  return (name) => {
    const id = ids.get(name)
    if (id === undefined) throw new Error(`${noun}: "${name}" was not seeded`)
    return id
  }
}

/** Stores the policies, tests, evidence and requirements of the templates for controls that list none. */
async function addTemplateMappings(
  trx: Trx,
  { accountId, workspaceId }: WorkspaceContext,
  added: readonly NewControl[],
): Promise<void> {
  const without = (list: 'policies' | 'tests' | 'evidence' | 'requirements') =>
    added.filter(({ control }) => control[list] === undefined).map(({ id }) => id)
  await sql`
    insert into control_policies (control_id, policy_id)
    select controls.id, policies.id from controls
    join template_policies as mapped on mapped.control_template_id = controls.template_id
    join policies on policies.template_id = mapped.policy_template_id and policies.account_id = ${accountId}
    where controls.id = any(${without('policies')}::bigint[])
  `.execute(trx)
  await sql`
    insert into control_tests (control_id, test_id)
    select controls.id, tests.id from controls
    join template_tests as mapped on mapped.control_template_id = controls.template_id
    join tests on tests.template_id = mapped.test_template_id and tests.workspace_id = ${workspaceId}
    where controls.id = any(${without('tests')}::bigint[])
  `.execute(trx)
  await sql`
    insert into control_evidence (control_id, evidence_id)
    select controls.id, evidence.id from controls
    join template_evidence as mapped on mapped.control_template_id = controls.template_id
    join evidence on evidence.template_id = mapped.evidence_template_id and evidence.workspace_id = ${workspaceId}
    where controls.id = any(${without('evidence')}::bigint[])
  `.execute(trx)
  await sql`
    insert into control_requirements (control_id, requirement_id)
    select controls.id, requirements.id from controls
    join template_requirements as mapped on mapped.control_template_id = controls.template_id
    join requirements on requirements.id = mapped.requirement_id
    join workspace_frameworks as enabled
      on enabled.framework_id = requirements.framework_id and enabled.workspace_id = ${workspaceId}
    where controls.id = any(${without('requirements')}::bigint[])
  `.execute(trx)
}
