import { z } from 'zod'
import type { NewAudit } from '../audits/audit-input.ts'
import {
  addIssue,
  checkKnown,
  checkKnownKeys,
  checkKnownOne,
  checkUnique,
  type DocumentCheck,
} from '../core/document-checks.ts'
import {
  codeOf,
  SeedAccount,
  type SeedControl,
  type SeedCustomField,
  type SeedPolicy,
  type SeedProvider,
  type SeedWorkspace,
} from './account-document.ts'
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
  readonly groups: Names
}

/** A seed. All names, codes and e-mail addresses must resolve inside the document. Templates need not if it has no library. */
export const SeedDocument = z
  .strictObject({ library: LibraryDocument.optional(), accounts: z.array(SeedAccount) })
  .check(checkAccounts)
export type SeedDocument = z.infer<typeof SeedDocument>

/** The number of objects that a seed added. */
export const SeedResult = z
  .object({ accounts: z.int().min(0), workspaces: z.int().min(0), people: z.int().min(0) })
  .meta({ id: 'Seeded', description: 'The number of added objects.' })
export type SeedResult = z.infer<typeof SeedResult>

const anything: Names = { has: () => true }
const unknownTemplates: Templates = {
  policies: anything,
  tests: anything,
  evidence: anything,
  controls: anything,
  requirements: { has: () => true, get: () => anything },
}

/** Adds issues for repeated and unknown names, codes and e-mail addresses. */
function checkAccounts(checking: DocumentCheck<Document>): void {
  const { library, accounts } = checking.value
  const templates = library ? templatesOf(library) : unknownTemplates
  checkUnique(checking, { path: ['accounts'], noun: 'account', values: accounts.map(({ name }) => name) })
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

function checkAccount(checking: DocumentCheck<Document>, path: Path, account: SeedAccount, templates: Templates): void {
  const { people, policies, customFields, workspaces, identityProviders = [] } = account
  checkUnique(checking, {
    path: [...path, 'people'],
    noun: 'person',
    values: people.map(({ email }) => toLowerCase(email)),
  })
  checkUnique(checking, { path: [...path, 'policies'], noun: 'policy', values: policies.map(({ name }) => name) })
  checkUnique(checking, {
    path: [...path, 'customFields'],
    noun: 'custom field',
    values: customFields.map(({ name }) => name),
  })
  checkUnique(checking, {
    path: [...path, 'workspaces'],
    noun: 'workspace',
    values: workspaces.map(({ name }) => name),
  })
  for (const [index, field] of customFields.entries())
    checkCustomField(checking, [...path, 'customFields', index], field)
  const scope = {
    templates,
    people: inAnyCase(people.map(({ email }) => email)),
    groups: new Set(identityProviders.flatMap(({ groups }) => groups.map(({ externalId }) => externalId))),
    policies: new Set(policies.map(({ name }) => name)),
  }
  checkProviders(checking, [...path, 'identityProviders'], identityProviders, scope.people)
  for (const [index, policy] of policies.entries()) checkPolicy(checking, [...path, 'policies', index], policy, scope)
  for (const [index, workspace] of workspaces.entries()) {
    checkWorkspace(checking, [...path, 'workspaces', index], workspace, scope)
  }
}

function checkPolicy(
  checking: DocumentCheck<Document>,
  path: Path,
  { template, assignedTo, groups: values }: SeedPolicy,
  { templates, groups }: Scope,
): void {
  const templatePath = [...path, 'template']
  checkKnownOne(checking, { path: templatePath, noun: 'policy template', value: template, known: templates.policies })
  const groupsPath = [...path, 'groups']
  checkKnown(checking, { path: groupsPath, noun: 'group', values, known: groups })
  checkUnique(checking, { path: groupsPath, noun: 'group', values })
  if (assignedTo === 'GROUP' && values.length === 0) addIssue(checking, groupsPath, 'a policy for GROUP needs groups')
  if (assignedTo !== 'GROUP' && values.length > 0) addIssue(checking, groupsPath, 'only a policy for GROUP has groups')
}

// A group is named by its key alone, so that a key belongs to one provider of the account only.
function checkProviders(
  checking: DocumentCheck<Document>,
  path: Path,
  providers: readonly SeedProvider[],
  people: Names,
): void {
  checkUnique(checking, { path, noun: 'identity provider', values: providers.map(({ name }) => name) })
  const keys = providers.flatMap(({ groups }) => groups.map(({ externalId }) => externalId))
  checkUnique(checking, { path, noun: 'group', values: keys })
  for (const [index, { groups }] of providers.entries()) {
    for (const [at, { members }] of groups.entries()) {
      const membersPath = [...path, index, 'groups', at, 'members']
      checkKnown(checking, { path: membersPath, noun: 'person', values: members, known: people })
    }
  }
}

function checkCustomField(checking: DocumentCheck<Document>, path: Path, field: SeedCustomField): void {
  const { type, currencyCode, options } = field
  checkUnique(checking, { path: [...path, 'options'], noun: 'option', values: options })
  if (currencyCode !== null && type !== 'CURRENCY')
    addIssue(checking, [...path, 'currencyCode'], 'only a field of type CURRENCY has a currency')
  if (options.length > 0 && type !== 'OPTIONS' && type !== 'OPTIONS_NUMERIC')
    addIssue(checking, [...path, 'options'], 'only a field of type OPTIONS or OPTIONS_NUMERIC has options')
}

function inAnyCase(emails: readonly string[]): Names {
  const known = new Set(emails.map(toLowerCase))
  return { has: (email) => known.has(toLowerCase(email)) }
}

function toLowerCase(email: string): string {
  return email.toLowerCase()
}

function checkWorkspace(checking: DocumentCheck<Document>, path: Path, workspace: SeedWorkspace, scope: Scope): void {
  const { frameworks, tests, evidence, controls, audits } = workspace
  const { templates, groups } = scope
  checkKnown(checking, { path: [...path, 'scope'], noun: 'group', values: workspace.scope ?? [], known: groups })
  const lists = [
    { name: 'frameworks', noun: 'framework', values: frameworks },
    { name: 'tests', noun: 'test', values: tests.map(({ name }) => name) },
    { name: 'evidence', noun: 'evidence', values: evidence.map(({ name }) => name) },
    { name: 'controls', noun: 'control', values: controls.map(codeOf) },
    {
      name: 'audits',
      noun: 'audit of framework and period',
      values: audits.map(({ framework, startDate, endDate }) => `${framework} ${startDate}/${endDate}`),
    },
  ]
  for (const { name, noun, values } of lists) checkUnique(checking, { path: [...path, name], noun, values })
  checkKnown(checking, {
    path: [...path, 'frameworks'],
    noun: 'framework in the library',
    values: frameworks,
    known: templates.requirements,
  })
  for (const [index, { template }] of tests.entries()) {
    const templatePath = [...path, 'tests', index, 'template']
    checkKnownOne(checking, { path: templatePath, noun: 'test template', value: template, known: templates.tests })
  }
  for (const [index, { template }] of evidence.entries()) {
    const templatePath = [...path, 'evidence', index, 'template']
    checkKnownOne(checking, {
      path: templatePath,
      noun: 'evidence template',
      value: template,
      known: templates.evidence,
    })
  }
  for (const [index, control] of controls.entries()) {
    checkControl(checking, [...path, 'controls', index], control, { ...scope, workspace })
  }
  for (const [index, audit] of audits.entries()) {
    checkAuditNames(checking, [...path, 'audits', index], audit, { ...scope, codes: new Set(controls.map(codeOf)) })
  }
}

function checkControl(
  checking: DocumentCheck<Document>,
  path: Path,
  control: SeedControl,
  { templates, people, policies, workspace }: Scope & { workspace: SeedWorkspace },
): void {
  if (control.template === undefined) {
    const missing = (['code', 'name', 'description'] as const).filter((name) => control[name] === undefined)
    for (const name of missing) addIssue(checking, [...path, name], 'a control without a template needs its own')
  }
  checkKnownOne(checking, {
    path: [...path, 'template'],
    noun: 'control template',
    value: control.template,
    known: templates.controls,
  })
  const lists = [
    { name: 'owners', noun: 'person', values: control.owners, known: people },
    { name: 'policies', noun: 'policy', values: control.policies, known: policies },
    {
      name: 'tests',
      noun: 'test in this workspace',
      values: control.tests,
      known: new Set(workspace.tests.map(({ name }) => name)),
    },
    {
      name: 'evidence',
      noun: 'evidence in this workspace',
      values: control.evidence,
      known: new Set(workspace.evidence.map(({ name }) => name)),
    },
  ]
  for (const { name, noun, values = [], known } of lists) {
    checkKnown(checking, { path: [...path, name], noun, values, known })
    checkUnique(checking, { path: [...path, name], noun, values })
  }
  for (const [index, { by }] of control.notes.entries()) {
    checkKnownOne(checking, { path: [...path, 'notes', index, 'by'], noun: 'person', value: by, known: people })
  }
  checkRequirements(checking, [...path, 'requirements'], control.requirements ?? {}, templates, workspace)
}

function checkRequirements(
  checking: DocumentCheck<Document>,
  path: Path,
  requirements: Readonly<Record<string, readonly string[]>>,
  templates: Templates,
  { frameworks }: SeedWorkspace,
): void {
  const keys = Object.keys(requirements)
  checkKnownKeys(checking, { path, noun: 'enabled framework', keys, known: new Set(frameworks) })
  for (const [slug, values] of Object.entries(requirements)) {
    const known = templates.requirements.get(slug) ?? anything
    checkKnown(checking, { path: [...path, slug], noun: 'requirement', values, known })
    checkUnique(checking, { path: [...path, slug], noun: 'requirement', values })
  }
}

function checkAuditNames(
  checking: DocumentCheck<Document>,
  path: Path,
  { auditors, internalAuditors, controls, requests }: NewAudit,
  { people, codes }: Scope & { codes: Names },
): void {
  const writers = inAnyCase(auditors.map(({ email }) => email))
  checkKnown(checking, { path: [...path, 'internalAuditors'], noun: 'person', values: internalAuditors, known: people })
  checkKnown(checking, {
    path: [...path, 'controls'],
    noun: 'control in this workspace',
    values: controls,
    known: codes,
  })
  for (const [index, request] of requests.entries()) {
    const requestPath = [...path, 'requests', index]
    const noun = 'control in this workspace'
    checkKnown(checking, { path: [...requestPath, 'owners'], noun: 'person', values: request.owners, known: people })
    checkKnown(checking, { path: [...requestPath, 'controls'], noun, values: request.controls, known: codes })
    for (const [at, { by }] of request.messages.entries()) {
      checkKnownOne(checking, {
        path: [...requestPath, 'messages', at, 'by'],
        noun: 'person or auditor',
        value: by,
        known: { has: (email) => people.has(email) || writers.has(email) },
      })
    }
  }
}
