import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { type ControlCompany, newControlCompany } from '../helpers/control-company.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const unknownId = Number.MAX_SAFE_INTEGER

describe.each(databases)('the control library on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let company: ControlCompany
  let ids: Readonly<Record<string, number>>

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    company = await newControlCompany(opened, 'Acme')
    const { data } = bodyOf(await company.client.listControlLibrary({ query: {} }), 200)
    ids = Object.fromEntries(data.map(({ code, id }) => [code, id]))
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  type Query = NonNullable<Parameters<ControlCompany['client']['listControlLibrary']>[0]['query']>
  const codes = async (query: Query) => {
    const { data } = bodyOf(await company.client.listControlLibrary({ query }), 200)
    return data.map(({ code }) => code)
  }

  test('a template is listed and read with whether the account uses it', async () => {
    const { data } = bodyOf(await company.client.listControlLibrary({ query: {} }), 200)

    expect(data[0]).toEqual({
      id: ids['LIB-1'],
      code: 'LIB-1',
      controlNumber: 1,
      name: 'Access is reviewed',
      description: 'What it is for.',
      question: 'How?',
      activity: 'Look at it.',
      domain: 'PRODUCT_SECURITY',
      category: 'ACCESS_CONTROL',
      inUse: true,
    })
    expect(data.map(({ code, inUse }) => [code, inUse])).toEqual([
      ['LIB-1', true],
      ['LIB-2', true],
      ['LIB-10', false],
      ['LIB-9', false],
    ])
    const read = await company.client.getControlLibraryItem({ params: { templateId: ids['LIB-1'] ?? 0 }, query: {} })
    expect(bodyOf(read, 200)).toEqual(data[0])
  })

  test("another account's controls put no template to use", async () => {
    const { client } = await opened.newAccount({ entitlements: ['CUSTOM_FRAMEWORKS'] })

    const { data } = bodyOf(await client.listControlLibrary({ query: {} }), 200)

    expect(data.map(({ inUse }) => inUse)).toEqual([false, false, false, false])
    const read = await client.getControlLibraryItem({
      params: { templateId: ids['LIB-1'] ?? 0 },
      query: { 'expand[]': ['controlsUsingTemplate'] },
    })
    expect(bodyOf(read, 200).controlsUsingTemplate).toEqual([])
  })

  test.each<[Query, string[]]>([
    [{ search: 'acc' }, ['LIB-1', 'LIB-9']],
    [{ search: 'lib-1' }, ['LIB-1', 'LIB-10']],
    [{ search: 'reviewed' }, []],
    [{ search: '%' }, []],
    [{ search: '_' }, []],
    [{ search: 'BACKUPS 100%' }, ['LIB-2']],
    [{ search: '' }, ['LIB-1', 'LIB-2', 'LIB-10', 'LIB-9']],
    [{ 'codes[]': ['LIB-9', 'LIB-1', 'NONE'] }, ['LIB-1', 'LIB-9']],
    [{ 'codes[]': ['lib-9'] }, []],
    [{ domain: 'GENERAL' }, ['LIB-10', 'LIB-9']],
    [{ category: 'BACKUPS' }, ['LIB-2']],
    [{ frameworkTag: 'SOC_2' }, ['LIB-1']],
    [{ frameworkTag: 'ISO270012022' }, ['LIB-1', 'LIB-2']],
    [{ frameworkTag: 'HIPAA' }, []],
    [{ hasTests: true }, ['LIB-1']],
    [{ hasPolicies: true }, ['LIB-1']],
    [{ hasEvidence: true }, ['LIB-1']],
    [{ hasRisks: true }, ['LIB-1']],
    [{ hasTests: false }, ['LIB-1', 'LIB-2', 'LIB-10', 'LIB-9']],
    [{ domain: 'GENERAL', search: 'z' }, ['LIB-10']],
    [{ sort: 'controlNumber' }, ['LIB-1', 'LIB-2', 'LIB-9', 'LIB-10']],
    [{ sort: 'controlNumber', sortDir: 'DESC' }, ['LIB-10', 'LIB-9', 'LIB-2', 'LIB-1']],
    [{ sort: 'updatedAt', sortDir: 'DESC' }, ['LIB-9', 'LIB-10', 'LIB-2', 'LIB-1']],
  ])('the query %o finds %o', async (query, expected) => {
    expect(await codes(query)).toEqual(expected)
  })

  test('templates are found and left out by their ids', async () => {
    const [first, second] = [ids['LIB-1'] ?? 0, ids['LIB-2'] ?? 0]

    expect(await codes({ 'ids[]': [first, second, unknownId] })).toEqual(['LIB-1', 'LIB-2'])
    expect(await codes({ 'excludeIds[]': [first, unknownId] })).toEqual(['LIB-2', 'LIB-10', 'LIB-9'])
    expect(await codes({ 'ids[]': [first, second], 'excludeIds[]': [first] })).toEqual(['LIB-2'])
  })

  test.each(['createdAt', 'updatedAt', 'name', 'controlNumber'] as const)(
    'a walk by %s meets every template once and counts them on its first page',
    async (sort) => {
      const whole = await codes({ sort })
      const met: string[] = []
      const counts: unknown[] = []
      let cursor: string | undefined
      do {
        const query = { sort, size: 3, includeTotalCount: true, ...(cursor !== undefined && { cursor }) }
        const { data, pagination } = bodyOf(await company.client.listControlLibrary({ query }), 200)
        met.push(...data.map(({ code }) => code))
        counts.push(pagination.totalCount)
        cursor = pagination.cursor ?? undefined
      } while (cursor !== undefined)

      expect(met).toEqual(whole)
      expect(new Set(met).size).toBe(4)
      expect(counts).toEqual([4, undefined])
    },
  )

  test('every expansion returns the contents of a template', async () => {
    const { client, controls, workspaceId } = company

    const answer = await client.getControlLibraryItem({
      params: { templateId: ids['LIB-1'] ?? 0 },
      query: {
        'expand[]': [
          'testTemplates',
          'policyTemplates',
          'evidenceTemplates',
          'requirementTemplates',
          'controlsUsingTemplate',
        ],
      },
    })

    expect(bodyOf(answer, 200)).toMatchObject({
      testTemplates: [
        { id: expect.any(Number), name: 'MFA is on', description: null, rating: 'RECOMMENDED', source: 'DRATA' },
      ],
      policyTemplates: [{ id: expect.any(Number), name: 'Access Policy', description: 'Who may do what.' }],
      evidenceTemplates: [
        {
          id: expect.any(Number),
          evidenceTemplateCode: 'EV-1',
          name: 'Access review',
          requestDescription: 'The last review.',
          implementationGuidance: null,
        },
      ],
      requirementTemplates: [
        {
          id: expect.any(Number),
          name: 'CC1.1',
          description: 'Integrity.',
          longDescription: 'At length.',
          additionalInfo: 'More.',
          additionalInfo2: null,
          additionalInfo3: null,
          framework: { slug: 'soc2', name: 'SOC 2' },
        },
        { name: 'CC6.1' },
        { name: 'A.5', framework: { slug: 'iso27001' } },
      ],
      controlsUsingTemplate: [
        { controlId: controls['LIB-1'], code: 'LIB-1', workspaceId, workspaceName: 'Cloud' },
        { controlId: controls['LIB-1.1'], code: 'LIB-1.1', workspaceId, workspaceName: 'Cloud' },
      ],
    })
  })

  test('an unknown template is 404', async () => {
    const answer = await company.client.getControlLibraryItem({ params: { templateId: unknownId }, query: {} })

    expect(answer.status).toBe(404)
  })

  test.each<[string, Query]>([
    ['a NUL character in the search', { search: 'a\0' }],
    ['a NUL character in a code', { 'codes[]': ['a\0'] }],
    ['an unknown domain', { domain: 'SPACE' as 'GENERAL' }],
    ['an unknown sort', { sort: 'code' as 'name' }],
    ['an id that is none', { 'ids[]': [0] }],
  ])('%s is refused with 400', async (_what, query) => {
    const answer = await company.client.listControlLibrary({ query })

    expect(answer.status).toBe(400)
  })

  test('the library needs the feature in the plan and the permission', async () => {
    const { client } = await opened.newAccount({ entitlements: [] })
    const other = await opened.clientOf('Acme', ['controls-notes-get'])

    const answers = [await client.listControlLibrary({ query: {} }), await other.listControlLibrary({ query: {} })]

    expect(answers.map(({ status }) => status)).toEqual([402, 403])
  })
})
