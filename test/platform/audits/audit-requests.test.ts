import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { type AuditCompany, newAuditCompany } from '../helpers/audit-company.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const createdAt = '2026-03-02T10:00:00.000Z'

describe.each(databases)('audit requests on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let acme: AuditCompany
  let other: AuditCompany
  let auditId: string
  let ids: Readonly<Record<string, number>>

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    acme = await newAuditCompany(opened, 'Acme')
    other = await newAuditCompany(opened, 'Other')
    auditId = acme.audits.SOC_2_TYPE_2 ?? ''
    const requests = bodyOf(await list(), 200).data
    ids = Object.fromEntries(requests.map(({ code, id }) => [code, id]))
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const list = (query: object = {}, overrides: { workspaceId?: number; auditId?: string } = {}) =>
    acme.client.listAuditRequests({ params: { workspaceId: acme.workspaceId, auditId, ...overrides }, query })
  const get = (requestId: number, query: object = {}, overrides: { workspaceId?: number; auditId?: string } = {}) =>
    acme.client.getAuditRequest({
      params: { workspaceId: acme.workspaceId, auditId, requestId, ...overrides },
      query,
    })
  const codes = async (query: object) => bodyOf(await list(query), 200).data.map(({ code }) => code)
  const user = (name: string) => acme.users[name] ?? 0

  test('the list shows those of the audit, and no expansion that was not requested', async () => {
    const { data, pagination } = bodyOf(await list(), 200)
    const none = bodyOf(await list({}, { auditId: acme.audits.ISO_27001_2022 ?? '' }), 200)

    const common = { id: expect.any(Number), description: null, auditId, createdAt, updatedAt: createdAt }
    expect(data).toEqual([
      { ...common, code: 'REQ-1', title: 'People who joined', description: 'A list.', status: 'ACCEPTED' },
      { ...common, code: 'REQ-2', title: 'Reviews', status: 'IN_REVIEW' },
      { ...common, code: 'REQ-3', title: 'Incidents', status: 'OUTSTANDING' },
    ])
    expect([pagination, none]).toEqual([{}, { data: [], pagination: {} }])
  })

  test('the list carries owners and messages on request', async () => {
    const [first, , third] = bodyOf(await list({ 'expand[]': ['owners', 'messages'] }), 200).data

    expect(first?.owners?.map(({ email }) => email)).toEqual(['ana@a.example', 'bo@a.example'])
    const common = { id: expect.any(Number), createdAt, updatedAt: createdAt }
    expect(first?.messages).toEqual([
      { ...common, message: 'Please include contractors.', sentByEmail: 'eve@auditors.example' },
      { ...common, message: 'Done.', sentByEmail: 'ana@a.example' },
      { ...common, message: 'Accepted.', sentByEmail: null },
    ])
    expect(third).toMatchObject({ owners: [], messages: [] })
  })

  test('one request carries its controls as well', async () => {
    const bare = bodyOf(await get(ids['REQ-1'] ?? 0), 200)
    const request = bodyOf(await get(ids['REQ-1'] ?? 0, { 'expand[]': ['controls', 'owners'] }), 200)
    const empty = bodyOf(await get(ids['REQ-3'] ?? 0, { 'expand[]': ['controls'] }), 200)

    expect(Object.keys(bare)).not.toContain('controls')
    expect(request.controls).toEqual([{ id: expect.any(Number), code: 'A-2', name: 'Two', controlNumber: 907 }])
    expect(request.owners).toHaveLength(2)
    expect(request).not.toHaveProperty('messages')
    expect(empty.controls).toEqual([])
  })

  test('values of one filter are alternatives, and the filters narrow each other', async () => {
    expect(await codes({ 'status[]': ['ACCEPTED'] })).toEqual(['REQ-1'])
    expect(await codes({ 'status[]': ['ACCEPTED', 'OUTSTANDING'] })).toEqual(['REQ-1', 'REQ-3'])
    expect(await codes({ 'status[]': ['CHANGES_REQUESTED'] })).toEqual([])
    expect(await codes({ 'userIds[]': [user('bo')] })).toEqual(['REQ-1', 'REQ-2'])
    expect(await codes({ 'userIds[]': [user('ana'), user('cy')] })).toEqual(['REQ-1'])
    expect(await codes({ 'userIds[]': [user('cy')] })).toEqual([])
    expect(await codes({ 'userIds[]': [user('bo')], 'status[]': ['IN_REVIEW', 'OUTSTANDING'] })).toEqual(['REQ-2'])
    expect(await codes({ 'userIds[]': [other.users.bo ?? 0, Number.MAX_SAFE_INTEGER] })).toEqual([])
  })

  test('a cursor holds for its filters, in whatever order they are written', async () => {
    const query = { size: 1, 'status[]': ['ACCEPTED', 'OUTSTANDING'], 'userIds[]': undefined }
    const first = bodyOf(await list(query), 200)
    const { cursor } = first.pagination

    const second = bodyOf(await list({ ...query, 'status[]': ['OUTSTANDING', 'ACCEPTED'], cursor }), 200)
    const foreign = await list({ size: 1, cursor })

    expect([...first.data, ...second.data].map(({ code }) => code)).toEqual(['REQ-1', 'REQ-3'])
    expect([second.pagination, foreign.status]).toEqual([{}, 400])
  })

  test.each([
    ['an unknown status', 'requests?status[]=DONE'],
    ['a user who is no number', 'requests?userIds[]=ana'],
    ['a user whom no number names', 'requests?userIds[]=0'],
    ['a number that no id has', 'requests?userIds[]=1e300'],
    ['an expansion of the other operation', 'requests?expand[]=controls'],
    ['a request that is no number', 'requests/REQ-1'],
  ])('%s is refused', async (_what, path) => {
    const { key } = await opened.operator.createKey({ body: { account: 'Acme', name: 'raw', permissions: 'all-read' } })
    const url = `${opened.platform.baseUrl}/workspaces/${acme.workspaceId}/audits/${auditId}/${path}`

    const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })

    expect(answer.status).toBe(400)
  })

  test('unknown ids and those of others are 404', async () => {
    const requestId = ids['REQ-1'] ?? 0
    const foreignAudit = other.audits.SOC_2_TYPE_2 ?? ''

    const answers = await Promise.all([
      list({}, { workspaceId: acme.otherWorkspaceId }),
      list({}, { workspaceId: other.workspaceId, auditId: foreignAudit }),
      get(999_999),
      get(Number.MAX_SAFE_INTEGER),
      get(requestId, {}, { auditId: acme.audits.ISO_27001_2022 ?? '' }),
      get(requestId, {}, { workspaceId: acme.otherWorkspaceId }),
      get(requestId, {}, { auditId: foreignAudit, workspaceId: other.workspaceId }),
    ])

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404, 404])
  })

  test('reading requires the permission for requests', async () => {
    const reader = await opened.clientOf('Acme', ['customer-request-get-requests'])
    const stranger = await opened.clientOf('Acme', ['audit-get'])
    const params = { workspaceId: acme.workspaceId, auditId }

    const answers = await Promise.all([reader.listAuditRequests({ params }), stranger.listAuditRequests({ params })])

    expect(answers.map(({ status }) => status)).toEqual([200, 403])
  })
})
