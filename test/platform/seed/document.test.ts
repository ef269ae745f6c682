import { describe, expect, test } from 'vitest'
import { codeOf } from '../../../src/platform/seed/account-document.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { readSeed } from '../../../src/platform/seed/file.ts'

const acme = await readSeed('config/platform-seed.yaml')
const [company] = acme.accounts
const ana = { email: 'ana@a.example', firstName: 'Ana', lastName: 'Low' }
const policy = { name: 'P', description: 'Rules.' }
const field = { name: 'F', type: 'TEXT', entityTypes: ['CONTROL'] }
const own = { code: 'OWN-1', name: 'Own', description: 'Ours alone.' }
const audit = { framework: 'SOC_2_TYPE_1', startDate: '2026-01-01', endDate: '2026-03-31' }
const request = { code: 'R-1', title: 'Show us' }

describe('the company that comes with the platform', () => {
  test('has controls of every kind in each workspace', () => {
    const kinds = company?.workspaces.map(({ controls }) => ({
      enough: controls.length >= 15,
      archived: controls.some(({ archived }) => archived),
      custom: controls.some(({ template }) => template === undefined),
      disabled: controls.some(({ enabled }) => !enabled),
      unowned: controls.some(({ owners }) => owners.length === 0),
      noted: controls.some(({ notes }) => notes.length > 0),
    }))

    const all = { enough: true, archived: true, custom: true, disabled: true, unowned: true, noted: true }
    expect(kinds).toEqual([all, all])
  })

  test('has audits with requests in every status', () => {
    const audits = company?.workspaces.flatMap((workspace) => workspace.audits) ?? []
    const requests = audits.flatMap((one) => one.requests)

    expect(audits.map(({ status }) => status).toSorted()).toEqual(['ACTIVE', 'COMPLETED', 'PREPARING'])
    expect(audits.every((one) => one.requests.length >= 3)).toBe(true)
    expect(new Set(requests.map(({ status }) => status)).size).toBe(4)
  })

  test('fits a request to a running platform and stays the same on the way', () => {
    const body = JSON.stringify(acme)

    expect(Buffer.byteLength(body)).toBeLessThan(10 * 1024 * 1024)
    expect(SeedDocument.parse(JSON.parse(body))).toEqual(acme)
  })
})

describe('a seed', () => {
  test('gives missing values their defaults', () => {
    const { accounts } = SeedDocument.parse(seed({ company: { domain: 'a.example' } }))

    expect(accounts[0]).toMatchObject({
      company: { domain: 'a.example', legalName: null, agentEnabled: false, language: 'ENGLISH_US' },
      people: [{ email: 'ana@a.example', title: null }, { email: 'bo@a.example' }],
      workspaces: [{ primary: false, description: null, url: null }],
    })
  })

  test('names a control by its own code, else by that of its template', () => {
    const { accounts } = SeedDocument.parse(seed({}, { controls: [{ template: 'C-1' }, { ...own, template: 'C-1' }] }))

    expect(accounts[0]?.workspaces[0]?.controls.map(codeOf)).toEqual(['C-1', 'OWN-1'])
  })

  test('without a library may name templates that the platform has already', () => {
    const document = seed({}, { frameworks: ['soc9'], controls: [{ template: 'C-9', requirements: { soc9: ['X'] } }] })

    expect(issuesOf(document)).toEqual([])
    expect(issuesOf({ ...document, library: acme.library }).map(([path]) => path)).toEqual([
      'accounts.0.workspaces.0.frameworks.0',
      'accounts.0.workspaces.0.controls.0.template',
    ])
  })

  const account = 'accounts.0'
  const workspace = `${account}.workspaces.0`
  test.each([
    ['a person twice', { people: [ana, { ...ana, email: 'ANA@a.example' }] }, {}, `${account}.people.1`],
    ['a policy twice', { policies: [policy, policy] }, {}, `${account}.policies.1`],
    ['a custom field twice', { customFields: [field, field] }, {}, `${account}.customFields.1`],
    ['a workspace twice', { workspaces: [{ name: 'W' }, { name: 'W' }] }, {}, `${account}.workspaces.1`],
    ['an unknown kind of field', { customFields: [{ ...field, type: 'DATE' }] }, {}, `${account}.customFields.0.type`],
    ['a framework twice', {}, { frameworks: ['soc2', 'soc2'] }, `${workspace}.frameworks.1`],
    ['a control twice', {}, { controls: [own, own] }, `${workspace}.controls.1`],
    ['a control of nothing', {}, { controls: [{ code: 'X', name: 'X' }] }, `${workspace}.controls.0.description`],
    [
      'an owner who is nobody',
      {},
      { controls: [{ ...own, owners: ['no@a.example'] }] },
      `${workspace}.controls.0.owners.0`,
    ],
    [
      'a note of nobody',
      {},
      { controls: [{ ...own, notes: [{ by: 'no@a.example', comment: 'x' }] }] },
      `${workspace}.controls.0.notes.0.by`,
    ],
    ['an unknown policy', {}, { controls: [{ ...own, policies: ['N'] }] }, `${workspace}.controls.0.policies.0`],
    ['an unknown test', {}, { controls: [{ ...own, tests: ['N'] }] }, `${workspace}.controls.0.tests.0`],
    ['unknown evidence', {}, { controls: [{ ...own, evidence: ['N'] }] }, `${workspace}.controls.0.evidence.0`],
    [
      'a requirement of a framework that is off',
      {},
      { controls: [{ ...own, requirements: { gdpr: ['Art. 5'] } }] },
      `${workspace}.controls.0.requirements.gdpr`,
    ],
    ['an audit twice', {}, { audits: [audit, audit] }, `${workspace}.audits.1`],
    [
      'a period that ends before it begins',
      {},
      { audits: [{ ...audit, endDate: '2025-12-31' }] },
      `${workspace}.audits.0.endDate`,
    ],
    ['a day that no month has', {}, { audits: [{ ...audit, endDate: '2026-02-30' }] }, `${workspace}.audits.0.endDate`],
    [
      'a completion of a running audit',
      {},
      { audits: [{ ...audit, completedAt: '2026-05-05T00:00:00Z' }] },
      `${workspace}.audits.0.completedAt`,
    ],
    [
      'a completed audit without its time',
      {},
      { audits: [{ ...audit, status: 'COMPLETED' }] },
      `${workspace}.audits.0.completedAt`,
    ],
    [
      'an internal auditor who is nobody',
      {},
      { audits: [{ ...audit, internalAuditors: ['no@a.example'] }] },
      `${workspace}.audits.0.internalAuditors.0`,
    ],
    [
      'an audited control of nowhere',
      {},
      { audits: [{ ...audit, controls: ['N'] }] },
      `${workspace}.audits.0.controls.0`,
    ],
    [
      'a request twice',
      {},
      { audits: [{ ...audit, requests: [request, request] }] },
      `${workspace}.audits.0.requests.1`,
    ],
    [
      'a request owned by nobody',
      {},
      { audits: [{ ...audit, requests: [{ ...request, owners: ['no@a.example'] }] }] },
      `${workspace}.audits.0.requests.0.owners.0`,
    ],
    [
      'a message of a stranger',
      {},
      { audits: [{ ...audit, requests: [{ ...request, messages: [{ message: 'x', by: 'no@a.example' }] }] }] },
      `${workspace}.audits.0.requests.0.messages.0.by`,
    ],
  ])('with %s is refused at the place', (_what, overrides, inWorkspace, path) => {
    expect(issuesOf(seed(overrides, inWorkspace)).map(([where]) => where)).toEqual([path])
  })

  test('takes messages of people and of the auditors of the audit', () => {
    const messages = [
      { message: 'a', by: 'Ana@a.example' },
      { message: 'b', by: 'eve@auditors.example' },
      { message: 'c' },
    ]
    const auditors = [{ name: 'Eve', email: 'eve@auditors.example' }]

    expect(issuesOf(seed({}, { audits: [{ ...audit, auditors, requests: [{ ...request, messages }] }] }))).toEqual([])
  })
})

function seed(overrides: object, inWorkspace: object = {}) {
  const people = [ana, { email: 'bo@a.example', firstName: 'Bo', lastName: 'Ek' }]
  const workspaces = [{ name: 'W', ...inWorkspace }]
  return { accounts: [{ name: 'A', entitlements: [], termsAcceptedAt: null, people, workspaces, ...overrides }] }
}

function issuesOf(document: unknown): [string, string][] {
  const { error } = SeedDocument.safeParse(document)
  return (error?.issues ?? []).map(({ path, message }) => [path.join('.'), message])
}
