import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type { LibraryControl, LibraryDocument, LibraryFramework } from './library-document.ts'

type Trx = Kysely<PlatformSchema>

/** The column by which documents refer to the rows of each table of the catalogue. */
const keys = {
  frameworks: 'slug',
  test_templates: 'name',
  policy_templates: 'name',
  evidence_templates: 'code',
  risk_templates: 'code',
  control_templates: 'code',
} as const

const nouns: Readonly<Record<CatalogueTable, string>> = {
  frameworks: 'framework',
  test_templates: 'test template',
  policy_templates: 'policy template',
  evidence_templates: 'evidence template',
  risk_templates: 'risk',
  control_templates: 'control template',
}

/** A table of the catalogue. */
export type CatalogueTable = keyof typeof keys

/** Adds missing templates, frameworks, requirements and mappings to the catalogue; existing ones do not change. */
export async function seedLibrary(trx: Trx, library: LibraryDocument, now: Date): Promise<void> {
  const stamps = { created_at: now, updated_at: now }
  const { frameworks, tests, policies, evidence, risks, controls } = library
  await addRows(
    trx,
    'frameworks',
    frameworks.map(({ tag, slug, name, pill, description }) => ({ tag, slug, name, pill, description, ...stamps })),
  )
  await seedRequirements(trx, frameworks, now)
  await addRows(
    trx,
    'test_templates',
    tests.map(({ name, description = null, rating, source }) => ({ name, description, rating, source })),
  )
  await addRows(
    trx,
    'policy_templates',
    policies.map(({ name, description }) => ({ name, description })),
  )
  await addRows(
    trx,
    'evidence_templates',
    evidence.map(({ code, name, requestDescription = null, implementationGuidance = null }) => ({
      code,
      name,
      request_description: requestDescription,
      implementation_guidance: implementationGuidance,
    })),
  )
  await addRows(
    trx,
    'risk_templates',
    risks.map(({ code, name, description }) => ({ code, name, description })),
  )
  await addRows(
    trx,
    'control_templates',
    controls.map(({ code, number, name, description, question, activity, domain, category, topics }) => ({
      code,
      control_number: number,
      name,
      description,
      question,
      activity,
      domain,
      category,
      topics,
      ...stamps,
    })),
  )
  await seedMappings(trx, controls)
}

/** The ids of these rows of the catalogue by name or code. The result throws `not_found` for an unknown one. */
export async function catalogueIds(
  trx: Trx,
  table: CatalogueTable,
  names: readonly string[],
): Promise<(name: string) => number> {
  const distinctNames = [...new Set(names)]
  const key = sql.ref(keys[table])
  const { rows } = await sql<{ id: number; name: string }>`
    select id, ${key} as name from ${sql.table(table)} where ${key} = any(${distinctNames}::text[])
  `.execute(trx)
  const ids = new Map(rows.map(({ id, name }) => [name, id]))
  return (name) => ids.get(name) ?? refuseUnknown(`${nouns[table]} "${name}"`)
}

/** The ids of the requirements of these frameworks. The result throws `not_found` for an unknown one. */
export async function requirementIds(
  trx: Trx,
  slugs: readonly string[],
): Promise<(slug: string, name: string) => number> {
  const rows = await trx
    .selectFrom('requirements')
    .innerJoin('frameworks', 'frameworks.id', 'requirements.framework_id')
    .select(['requirements.id', 'requirements.name', 'frameworks.slug'])
    .where(sql<boolean>`frameworks.slug = any(${[...new Set(slugs)]}::text[])`)
    .execute()
  const ids = new Map(rows.map(({ id, slug, name }) => [requirementKey(slug, name), id]))
  return (slug, name) => ids.get(requirementKey(slug, name)) ?? refuseUnknown(`requirement "${name}" of "${slug}"`)
}

function refuseUnknown(entry: string): never {
  throw new Failure('not_found', `the seed names the ${entry}, which is not in the library of this platform`)
}

// A slug contains no space.
function requirementKey(slug: string, name: string): string {
  return `${slug} ${name}`
}

async function seedRequirements(trx: Trx, frameworks: readonly LibraryFramework[], now: Date): Promise<void> {
  const frameworkId = await catalogueIds(
    trx,
    'frameworks',
    frameworks.map(({ slug }) => slug),
  )
  await addRows(
    trx,
    'requirements',
    frameworks.flatMap(({ slug, requirements }) =>
      requirements.map((requirement) => ({
        framework_id: frameworkId(slug),
        name: requirement.name,
        description: requirement.description,
        long_description: requirement.longDescription ?? null,
        additional_info: requirement.additionalInfo ?? null,
        additional_info_2: requirement.additionalInfo2 ?? null,
        additional_info_3: requirement.additionalInfo3 ?? null,
        external_id: null,
        created_at: now,
        updated_at: now,
      })),
    ),
  )
}

async function seedMappings(trx: Trx, controls: readonly LibraryControl[]): Promise<void> {
  const ids = await mappedIds(trx, controls)
  const mapped = controls.map((control) => ({ ...control, control_template_id: ids.control(control.code) }))
  await addRows(
    trx,
    'template_tests',
    mapped.flatMap(({ control_template_id, tests }) =>
      tests.map((name) => ({ control_template_id, test_template_id: ids.test(name) })),
    ),
  )
  await addRows(
    trx,
    'template_policies',
    mapped.flatMap(({ control_template_id, policies }) =>
      policies.map((name) => ({ control_template_id, policy_template_id: ids.policy(name) })),
    ),
  )
  await addRows(
    trx,
    'template_evidence',
    mapped.flatMap(({ control_template_id, evidence }) =>
      evidence.map((code) => ({ control_template_id, evidence_template_id: ids.evidence(code) })),
    ),
  )
  await addRows(
    trx,
    'template_risks',
    mapped.flatMap(({ control_template_id, risks }) =>
      risks.map((code) => ({ control_template_id, risk_template_id: ids.risk(code) })),
    ),
  )
  await addRows(
    trx,
    'template_requirements',
    mapped.flatMap(({ control_template_id, requirements }) =>
      Object.entries(requirements).flatMap(([slug, names]) =>
        names.map((name) => ({ control_template_id, requirement_id: ids.requirement(slug, name) })),
      ),
    ),
  )
}

/** Looks up the ids of these controls and of everything they refer to. */
async function mappedIds(trx: Trx, controls: readonly LibraryControl[]) {
  const idsIn = (table: CatalogueTable, namesOf: (control: LibraryControl) => readonly string[]) =>
    catalogueIds(trx, table, controls.flatMap(namesOf))
  return {
    control: await idsIn('control_templates', ({ code }) => [code]),
    test: await idsIn('test_templates', ({ tests }) => tests),
    policy: await idsIn('policy_templates', ({ policies }) => policies),
    evidence: await idsIn('evidence_templates', ({ evidence }) => evidence),
    risk: await idsIn('risk_templates', ({ risks }) => risks),
    requirement: await requirementIds(
      trx,
      controls.flatMap(({ requirements }) => Object.keys(requirements)),
    ),
  }
}
