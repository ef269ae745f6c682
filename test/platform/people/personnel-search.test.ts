import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SearchQuery } from '../../../src/contract/platform/personnel-search.ts'
import { maxLagMs } from '../../../src/platform/people/search-index.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import {
  bodyOf,
  newHrisConnection,
  openTestPlatform,
  type PlatformClient,
  type TestPlatform,
} from '../helpers/platforms.ts'

const left = '2025-06-30T00:00:00.000Z'
const seeded = [
  { email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg', title: 'Head of Security' },
  { email: 'tomas@acme.example', firstName: 'Tomás', lastName: 'García-Núñez', title: 'Platform Engineer' },
  { email: 'kay@acme.example', firstName: 'Kay', lastName: '100% Real', title: null },
]

type Query = Partial<SearchQuery>

describe.each(databases)('the search of people on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let acme: Awaited<ReturnType<typeof openAcme>>

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    acme = await openAcme()
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const searchWith = (client: PlatformClient) => async (query: Query) =>
    bodyOf(await client.searchPersonnel({ query: { 'expand[]': ['user'], ...query } }), 200)

  async function openAcme() {
    const { name, client } = await opened.newAccount({
      entitlements: ['CUSTOM_CONNECTIONS_AND_TESTS', 'CUSTOM_FIELDS_AND_FORMULAS'],
    })
    const group = (externalId: string, ...members: string[]) => ({ externalId, name: externalId, members })
    const okta = { name: 'Okta', clientType: 'OKTA_IDENTITY' }
    const groups = [group('Engineering', 'tomas@acme.example'), group('All', 'nora@acme.example', 'tomas@acme.example')]
    const customFields = [
      { name: 'Site', type: 'TEXT', entityTypes: ['PERSONNEL'] },
      { name: 'Level', type: 'NUMBER', entityTypes: ['PERSONNEL'] },
      { name: 'Since', type: 'TEXT', entityTypes: ['PERSONNEL'] },
    ]
    const workspaces = [{ name: 'Scoped', scope: ['Engineering'] }, { name: 'Open' }]
    const account = { name, entitlements: [], termsAcceptedAt: null, people: seeded, customFields, workspaces }
    const seed = { ...account, company: { domain: 'acme.example' }, identityProviders: [{ ...okta, groups }] }
    await opened.operator.seed({ body: SeedDocument.parse({ accounts: [seed] }) })
    const connectionId = await newHrisConnection(client)
    await client.upsertHrisUserIdentities({
      params: { connectionId },
      body: [
        { identityId: 'n', email: 'nora@acme.example', startedAt: '2020-01-01T00:00:00.000Z', isContractor: false },
        {
          identityId: 'l',
          email: 'leo@acme.example',
          firstName: 'Leo',
          lastName: 'Ash',
          separatedAt: left,
          isContractor: true,
        },
      ],
    })
    await opened.operator.syncIdentities({ body: { account: name } })
    for (const [address, fields] of Object.entries({
      nora: { Site: 'Bonn', Level: '9', Since: '2024-05-01' },
      tomas: { Site: 'Oslo', Level: '10', Since: '2025-02-01' },
    })) {
      const values = Object.entries(fields).map(([field, value]) => ({ name: field, value }))
      const params = { personnelId: `email:${address}@acme.example` as const }
      await client.updatePersonnel({ params, body: { customFields: values } })
    }
    const mdm = bodyOf(await client.createCustomConnection({ body: { name: 'MDM', providerTypes: ['MDM'] } }), 201)
    for (const [serialNumber, encryptionEnabled] of [
      ['one', true],
      ['two', false],
    ] as const) {
      const device = {
        personnelId: 'email:nora@acme.example' as const,
        platformName: 'MACOS' as const,
        platformVersion: '15',
      }
      await client.upsertDevice({
        params: { connectionId: mdm.id },
        body: { ...device, serialNumber, encryptionEnabled, antivirusEnabled: true },
      })
    }
    const workspaceIds = bodyOf(await client.listWorkspaces({ query: {} }), 200).data.map(({ id }) => id)
    const groupIds = bodyOf(await client.listGroups({ query: {} }), 200).data.map(({ id }) => id)
    const search = searchWith(client)
    const names = async (query: Query) => (await search(query)).data.map(({ user }) => user?.email.split('@')[0])
    return { name, client, connectionId, workspaceIds, groupIds, search, names }
  }

  test.each<[string, Query, string[]]>([
    ['nothing', {}, ['nora', 'tomas', 'kay', 'leo']],
    ['the beginning of a word, without accents', { q: 'nunez' }, ['tomas']],
    ['words of name and title', { q: 'nora SECUR' }, ['nora']],
    ['signs of the search itself', { q: "'|&!:*\\(" }, []],
    ['blank words', { q: '  ' }, ['nora', 'tomas', 'kay', 'leo']],
    ['the beginning of the first name', { firstName: 'TOM' }, ['tomas']],
    ['a last name with a sign of SQL', { lastName: '100%' }, ['kay']],
    ['a sign of SQL that nobody has', { lastName: '%' }, []],
    ['status', { 'employmentStatus[]': ['FORMER_CONTRACTOR', 'CURRENT_EMPLOYEE'] }, ['nora', 'leo']],
    ['compliance', { 'complianceStatus[]': ['EXCLUDED'] }, ['leo']],
    ['a status that nobody has', { 'complianceStatus[]': ['OUT_OF_SCOPE'] }, []],
    ['a background check', { 'bgCheckStatus[]': ['FAIL', 'PASS'] }, ['nora', 'tomas', 'kay']],
    ['the worst of several devices', { 'diskEncryptionStatus[]': ['FAIL'] }, ['nora', 'tomas', 'kay']],
    ['the best of several devices', { 'diskEncryptionStatus[]': ['PASS'] }, []],
    ['devices that agree', { 'antivirusStatus[]': ['PASS'] }, ['nora']],
    ['a setting that no device reports', { 'lockScreenStatus[]': ['FAIL'] }, ['nora', 'tomas', 'kay']],
    ['a check of leavers', { 'offboardingStatus[]': ['PASS', 'FAIL'] }, ['leo']],
    ['a check that is not there', { 'agentInstalledStatus[]': ['PASS', 'FAIL'] }, []],
    ['a record anywhere', { syncStatus: 'SYNCED' }, ['nora', 'tomas', 'leo']],
    ['no record', { syncStatus: 'NOT_SYNCED' }, ['kay']],
    ['an unknown connection', { 'hrisConnectionIds[]': [987_654] }, []],
    ['a custom field in any case', { customFields: [{ name: 'sITE', value: 'Bonn' }] }, ['nora']],
    [
      'two custom fields',
      {
        customFields: [
          { name: 'Site', value: 'Bonn' },
          { name: 'Level', value: '10' },
        ],
      },
      [],
    ],
    ['a range of numbers, not of texts', { customRangeFields: [{ name: 'Level', gte: '9.5' }] }, ['tomas']],
    ['a range of dates', { customRangeFields: [{ name: 'Since', gte: '2024-01-01', lte: '2024-12-31' }] }, ['nora']],
    ['two filters at once', { q: 'nora', syncStatus: 'NOT_SYNCED' }, []],
    ['names in order', { sort: 'name' }, ['kay', 'leo', 'nora', 'tomas']],
    ['names backwards', { sort: 'name', sortDir: 'DESC' }, ['tomas', 'nora', 'leo', 'kay']],
    ['starts in order', { sort: 'startDate' }, ['nora', 'tomas', 'kay', 'leo']],
  ])('finds by %s', async (_what, query, names) => {
    expect(await acme.names(query)).toEqual(names)
  })

  test('finds by connection, provider, group and scope', async () => {
    const { client, connectionId, groupIds, workspaceIds } = acme
    const providers = (await acme.search({})).data.flatMap(({ idpConnectionId }) => idpConnectionId ?? [])
    const inWorkspace = async (workspaceId = 0) => {
      const answer = await client.searchWorkspacePersonnel({ params: { workspaceId }, query: { 'expand[]': ['user'] } })
      return answer.status === 200 ? answer.body.data.map(({ user }) => user?.email.split('@')[0]) : answer.status
    }

    const lists = [
      await acme.names({ 'hrisConnectionIds[]': [connectionId] }),
      await acme.names({ 'idpConnectionIds[]': providers.slice(0, 1) }),
      await acme.names({ 'groupIds[]': groupIds.slice(0, 1) }),
      await inWorkspace(workspaceIds[0]),
      await inWorkspace(workspaceIds[1]),
      await inWorkspace(987_654),
    ]

    const everybody = ['nora', 'tomas', 'kay', 'leo']
    expect(lists).toEqual([['nora', 'leo'], ['nora', 'tomas'], ['tomas'], ['tomas'], everybody, 404])
  })

  test('expands connections, groups, checks and fields', async () => {
    const expanded = await acme.search({
      q: 'nora',
      'expand[]': ['groups', 'idpConnection', 'hrisConnection', 'complianceChecks', 'customFields', 'reasonProvider'],
    })

    expect(expanded.data).toMatchObject([
      {
        syncStatus: 'SYNCED',
        hrisConnectionId: acme.connectionId,
        hrisConnection: { id: acme.connectionId, clientType: 'CUSTOM_HRIS' },
        idpConnection: { clientType: 'OKTA_IDENTITY', clientAlias: 'Okta' },
        groups: { data: [{ name: 'All', source: 'OKTA_IDENTITY' }], totalCount: 1 },
        complianceChecks: { totalCount: 8 },
        customFields: { data: [{ name: 'Site', value: 'Bonn' }, {}, {}], totalCount: 3 },
        reasonProvider: null,
      },
    ])
  })

  test('counts on the first page what was asked for, in all people found', async () => {
    const facets = ['employmentStatus', 'syncStatus', 'groupIds', 'diskEncryptionStatus'] as const
    const first = await acme.search({ 'facets[]': [...facets], size: 1, firstName: 'No' })
    const all = await acme.search({ 'facets[]': ['groupIds'], size: 1 })
    const next = await acme.search({ 'facets[]': ['groupIds'], size: 1, cursor: all.pagination.cursor ?? '' })

    const present = Object.entries(first.facets ?? {}).map(([name, list]) => [
      name,
      list?.filter(({ count }) => count > 0),
    ])
    expect(Object.fromEntries(present)).toEqual({
      employmentStatus: [{ value: 'CURRENT_EMPLOYEE', count: 1 }],
      syncStatus: [{ value: 'SYNCED', count: 1 }],
      groupIds: [{ value: String(acme.groupIds[1]), count: 1 }],
      diskEncryptionStatus: [{ value: 'FAIL', count: 1 }],
    })
    expect(first.facets?.employmentStatus).toHaveLength(10)
    expect(all.facets?.groupIds?.map(({ count }) => count)).toEqual([2, 1])
    expect(next.facets).toBeUndefined()
  })

  test.each([
    ['an unknown custom field', 'customFields[0][name]=Chair&customFields[0][value]=7', 400],
    ['a custom field without a name', 'customFields[0][value]=7', 400],
    ['a property that is none', 'customFields[0][name]=Site&customFields[0][value]=7&customFields[0][values]=7', 400],
    ['a range without bounds', 'customRangeFields[0][name]=Level', 400],
    ['a bound that is neither number nor date', 'customRangeFields[0][name]=Level&customRangeFields[0][gte]=high', 400],
    ['an index that is none', 'customFields[x][name]=Site', 400],
    ['a property of an object', 'customFields[0][__proto__]=Site', 400],
    ['indexes with gaps', 'customFields[7][name]=Site&customFields[7][value]=Bonn', 200],
  ])('answers %s', async (_what, query, status) => {
    const { key } = await opened.operator.createKey({ body: { account: acme.name, name: 'raw', permissions: 'all' } })
    const headers = { authorization: `Bearer ${key}` }

    const answer = await fetch(`${opened.platform.baseUrl}/personnel-search?${query}`, { headers })

    expect(answer.status).toBe(status)
  })

  test('is 403 for custom fields beyond the plan, also where the workspace or the person is unknown', async () => {
    const { client } = await opened.newAccount()
    const query = { customFields: [{ name: 'Site', value: 'Bonn' }] }
    const person = { personnelId: 987_654 }

    const answers = [
      await client.searchWorkspacePersonnel({ params: { workspaceId: 987_654 }, query }),
      await client.getPersonnel({ params: person, query: { 'expand[]': ['customFields'] } }),
      await client.updatePersonnel({ params: person, body: { customFields: [{ name: 'Site', value: 'Bonn' }] } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403])
  })

  test('is 403 for a custom field beyond the plan', async () => {
    const { client } = await opened.newAccount()

    const answer = await client.searchPersonnel({ query: { customFields: [{ name: 'Site', value: 'Bonn' }] } })

    expect(answer.status).toBe(403)
  })

  test('shows a change also after the clock was set back', async () => {
    const { name, client } = await opened.newAccount()
    const connectionId = await newHrisConnection(client)
    const body = [{ identityId: 'a', email: 'ana@acme.example', isContractor: false }]
    await client.searchPersonnel({ query: {} })
    opened.clock.advance(-3_600_000)
    await client.upsertHrisUserIdentities({ params: { connectionId }, body })
    await opened.operator.syncIdentities({ body: { account: name } })

    const { data } = bodyOf(await client.searchPersonnel({ query: {} }), 200)
    opened.clock.advance(3_600_000)

    expect(data).toHaveLength(1)
  })

  test('shows a change within its lag at the latest, and the plain list at once', async () => {
    const { name, client } = await opened.newAccount()
    const connectionId = await newHrisConnection(client)
    const send = (record: object) =>
      client.upsertHrisUserIdentities({
        params: { connectionId },
        body: [{ identityId: 'a', email: 'ana@acme.example', isContractor: false, ...record }],
      })
    await send({})
    await opened.operator.syncIdentities({ body: { account: name } })
    const statuses = async () => {
      const searched = bodyOf(await client.searchPersonnel({ query: { 'hrisConnectionIds[]': [connectionId] } }), 200)
      const listed = bodyOf(await client.listPersonnel({ query: {} }), 200)
      return [searched, listed].map(({ data }) => data[0]?.employmentStatus)
    }

    const before = await statuses()
    await send({ separatedAt: left })
    await opened.operator.syncIdentities({ body: { account: name } })
    opened.clock.advance(maxLagMs - 1)
    const within = await statuses()
    opened.clock.advance(1)
    const after = await statuses()

    expect(before).toEqual(['CURRENT_EMPLOYEE', 'CURRENT_EMPLOYEE'])
    expect(within).toEqual(['CURRENT_EMPLOYEE', 'FORMER_EMPLOYEE'])
    expect(after).toEqual(['FORMER_EMPLOYEE', 'FORMER_EMPLOYEE'])
  })

  test.each([
    ['name', { last_name: 'Aaa' }],
    ['startDate', { started_at: new Date('1999-01-01T00:00:00Z') }],
  ] as const)('a walk by %s meets somebody who moves to a page that is read already', async (sort, change) => {
    const { name, client } = await opened.newAccount()
    const people = Array.from({ length: 9 }, (_, index) => ({
      email: `p${index}@acme.example`,
      firstName: 'Pat',
      lastName: `Name ${index}`,
    }))
    await opened.operator.seed({
      body: SeedDocument.parse({ accounts: [{ name, entitlements: [], termsAcceptedAt: null, people }] }),
    })
    const search = searchWith(client)
    const { db } = opened.platform.database
    const met: string[] = []
    let cursor: string | null | undefined

    do {
      const page = await search({ sort, size: 2, ...(cursor && { cursor }) })
      met.push(...page.data.map(({ user }) => user?.email ?? ''))
      if (!cursor) {
        const userId = bodyOf(await client.getUser({ params: { userId: 'email:p7@acme.example' }, query: {} }), 200).id
        if ('last_name' in change) await db.updateTable('users').set(change).where('id', '=', userId).execute()
        else await db.updateTable('personnel').set(change).where('user_id', '=', userId).execute()
        opened.clock.advance(maxLagMs)
      }
      cursor = page.pagination.cursor
    } while (cursor)

    expect([...new Set(met)].sort()).toEqual(people.map(({ email }) => email))
    expect(met).toHaveLength(9)
  })
})
