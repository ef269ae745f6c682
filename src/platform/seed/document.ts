import { z } from 'zod'
import type { NewAudit } from '../audits/audit-input.ts'
import {
  type Checking,
  checkKnown,
  checkKnownKeys,
  checkKnownOne,
  checkUnique,
  complain,
} from '../core/document-checks.ts'
import { codeOf, SeedAccount, type SeedControl, type SeedWorkspace } from './account-document.ts'
import { LibraryDocument } from './library-document.ts'

type Document = { readonly library?: LibraryDocument; readonly accounts: readonly SeedAccount[] }
type Path = readonly (string | number)[]
type Names = { has(name: string): boolean }
type Templates = {
  readonly policies: Names
  readonly tests: Names
  readonly evidence: Names
  readonly controls: Names
  readonly requirements: { has(slug: string): boolean; get(slug: string): Names | undefined }
}
type Scope = {
  readonly templates: Templates
  readonly people: Names
  readonly policies: Names
}

/** What a platform is filled with. Names, codes and addresses resolve inside the document; templates do where it brings a library. */
export const SeedDocument = z
  .strictObject({ library: LibraryDocument.optional(), accounts: z.array(SeedAccount) })
  .check(checkAccounts)
export type SeedDocument = z.infer<typeof SeedDocument>

/** What a seed added. */
export const SeedResult = z
  .object({ accounts: z.int().min(0), workspaces: z.int().min(0), people: z.int().min(0) })
  .meta({ id: 'Seeded', description: 'What was not there before.' })
export type SeedResult = z.infer<typeof SeedResult>

const anything: Names = { has: () => true }
const unknownTemplates: Templates = {
  policies: anything,
  tests: anything,
  evidence: anything,
  controls: anything,
  requirements: { has: () => true, get: () => anything },
}

/** Complains about names, codes and addresses of a seed that stand twice or name nothing, each at its place. */
function checkAccounts(checking: Checking<Document>): void {
  const { library, accounts } = checking.value
  const templates = library ? templatesOf(library) : unknownTemplates
  checkUnique(checking, { path: ['accounts'], what: 'account', values: accounts.map(({ name }) => name) })
  for (const [index, account] of accounts.entries()) checkAccount(checking, ['accounts', index], account, templates)
}

function templatesOf({ policies, tests, evidence, controls, frameworks }: LibraryDocument): Templates {
  return {
    policies: new Set(policies.map(({ name }) => name)),
    tests: new Set(tests.map(({ name }) => name)),
    evidence: new Set(evidence.map(({ code }) => code)),
    controls: new Set(controls.map(({ code }) => code)),
    requirements: new Map(
      frameworks.map(({ slug, requirements }) => [slug, new Set(requirements.map(({ name }) => name))]),
    ),
  }
}

function checkAccount(checking: Checking<Document>, path: Path, account: SeedAccount, templates: Templates): void {
  const { people, policies, customFields, workspaces } = account
  checkUnique(checking, {
    path: [...path, 'people'],
    what: 'person',
    values: people.map(({ email }) => lower(email)),
  })
  checkUnique(checking, { path: [...path, 'policies'], what: 'policy', values: policies.map(({ name }) => name) })
  checkUnique(checking, {
    path: [...path, 'customFields'],
    what: 'custom field',
    values: customFields.map(({ name }) => name),
  })
  checkUnique(checking, {
    path: [...path, 'workspaces'],
    what: 'workspace',
    values: workspaces.map(({ name }) => name),
  })
  for (const [index, { template }] of policies.entries()) {
    const place = [...path, 'policies', index, 'template']
    checkKnownOne(checking, { path: place, what: 'policy template', value: template, known: templates.policies })
  }
  const scope = {
    templates,
    people: inAnyCase(people.map(({ email }) => email)),
    policies: new Set(policies.map(({ name }) => name)),
  }
  for (const [index, workspace] of workspaces.entries()) {
    checkWorkspace(checking, [...path, 'workspaces', index], workspace, scope)
  }
}

function inAnyCase(emails: readonly string[]): Names {
  const known = new Set(emails.map(lower))
  return { has: (email) => known.has(lower(email)) }
}

function lower(email: string): string {
  return email.toLowerCase()
}

function checkWorkspace(checking: Checking<Document>, path: Path, workspace: SeedWorkspace, scope: Scope): void {
  const { frameworks, tests, evidence, controls, audits } = workspace
  const { templates } = scope
  const lists = [
    { name: 'frameworks', what: 'framework', values: frameworks },
    { name: 'tests', what: 'test', values: tests.map(({ name }) => name) },
    { name: 'evidence', what: 'evidence', values: evidence.map(({ name }) => name) },
    { name: 'controls', what: 'control', values: controls.map(codeOf) },
    {
      name: 'audits',
      what: 'audit of framework and period',
      values: audits.map(({ framework, startDate, endDate }) => `${framework} ${startDate}/${endDate}`),
    },
  ]
  for (const { name, what, values } of lists) checkUnique(checking, { path: [...path, name], what, values })
  checkKnown(checking, {
    path: [...path, 'frameworks'],
    what: 'framework in the library',
    values: frameworks,
    known: templates.requirements,
  })
  for (const [index, { template }] of tests.entries()) {
    const place = [...path, 'tests', index, 'template']
    checkKnownOne(checking, { path: place, what: 'test template', value: template, known: templates.tests })
  }
  for (const [index, { template }] of evidence.entries()) {
    const place = [...path, 'evidence', index, 'template']
    checkKnownOne(checking, { path: place, what: 'evidence template', value: template, known: templates.evidence })
  }
  for (const [index, control] of controls.entries()) {
    checkControl(checking, [...path, 'controls', index], control, { ...scope, workspace })
  }
  for (const [index, audit] of audits.entries()) {
    checkAuditNames(checking, [...path, 'audits', index], audit, { ...scope, codes: new Set(controls.map(codeOf)) })
  }
}

function checkControl(
  checking: Checking<Document>,
  path: Path,
  control: SeedControl,
  { templates, people, policies, workspace }: Scope & { workspace: SeedWorkspace },
): void {
  if (control.template === undefined) {
    const missing = (['code', 'name', 'description'] as const).filter((name) => control[name] === undefined)
    for (const name of missing) complain(checking, [...path, name], 'a control without a template needs its own')
  }
  checkKnownOne(checking, {
    path: [...path, 'template'],
    what: 'control template',
    value: control.template,
    known: templates.controls,
  })
  const lists = [
    { name: 'owners', what: 'person', values: control.owners, known: people },
    { name: 'policies', what: 'policy', values: control.policies, known: policies },
    {
      name: 'tests',
      what: 'test in this workspace',
      values: control.tests,
      known: new Set(workspace.tests.map(({ name }) => name)),
    },
    {
      name: 'evidence',
      what: 'evidence in this workspace',
      values: control.evidence,
      known: new Set(workspace.evidence.map(({ name }) => name)),
    },
  ]
  for (const { name, what, values = [], known } of lists) {
    checkKnown(checking, { path: [...path, name], what, values, known })
    checkUnique(checking, { path: [...path, name], what, values })
  }
  for (const [index, { by }] of control.notes.entries()) {
    checkKnownOne(checking, { path: [...path, 'notes', index, 'by'], what: 'person', value: by, known: people })
  }
  checkRequirements(checking, [...path, 'requirements'], control.requirements ?? {}, templates, workspace)
}

function checkRequirements(
  checking: Checking<Document>,
  path: Path,
  requirements: Readonly<Record<string, readonly string[]>>,
  templates: Templates,
  { frameworks }: SeedWorkspace,
): void {
  const keys = Object.keys(requirements)
  checkKnownKeys(checking, { path, what: 'enabled framework', keys, known: new Set(frameworks) })
  for (const [slug, values] of Object.entries(requirements)) {
    const known = templates.requirements.get(slug) ?? anything
    checkKnown(checking, { path: [...path, slug], what: 'requirement', values, known })
    checkUnique(checking, { path: [...path, slug], what: 'requirement', values })
  }
}

function checkAuditNames(
  checking: Checking<Document>,
  path: Path,
  { auditors, internalAuditors, controls, requests }: NewAudit,
  { people, codes }: Scope & { codes: Names },
): void {
  const writers = inAnyCase(auditors.map(({ email }) => email))
  checkKnown(checking, { path: [...path, 'internalAuditors'], what: 'person', values: internalAuditors, known: people })
  checkKnown(checking, {
    path: [...path, 'controls'],
    what: 'control in this workspace',
    values: controls,
    known: codes,
  })
  for (const [index, request] of requests.entries()) {
    const place = [...path, 'requests', index]
    const what = 'control in this workspace'
    checkKnown(checking, { path: [...place, 'owners'], what: 'person', values: request.owners, known: people })
    checkKnown(checking, { path: [...place, 'controls'], what, values: request.controls, known: codes })
    for (const [at, { by }] of request.messages.entries()) {
      checkKnownOne(checking, {
        path: [...place, 'messages', at, 'by'],
        what: 'person or auditor',
        value: by,
        known: { has: (email) => people.has(email) || writers.has(email) },
      })
    }
  }
}
