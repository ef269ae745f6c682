import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { type AuditCompany, auditSeed, firstAudit, newAuditCompany, secondAudit } from '../helpers/audit-company.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const createdAt = '2026-03-02T10:00:00.000Z'

describe.each(databases)('audits on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let acme: AuditCompany
  let other: AuditCompany

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    acme = await newAuditCompany(opened, 'Acme')
    other = await newAuditCompany(opened, 'Other')
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const list = (query: object = {}, workspaceId = acme.workspaceId) =>
    acme.client.listAudits({ params: { workspaceId }, query })
  const get = (auditId: string, query: object = {}, workspaceId = acme.workspaceId) =>
    acme.client.getAudit({ params: { workspaceId, auditId }, query })
  const idOf = (framework: string) => acme.audits[framework] ?? ''

  test('the list shows those of the workspace, and no expansion that was not requested', async () => {
    const { data, pagination } = bodyOf(await list(), 200)

    expect(data).toEqual([
      {
        id: idOf('SOC_2_TYPE_2'),
        frameworkType: 'SOC_2_TYPE_2',
        auditType: 'FULL_AUDIT',
        isInternalAudit: false,
        status: 'ACTIVE',
        startDate: '2026-01-01',
        endDate: '2026-12-31',
        completedAt: null,
        createdAt,
        updatedAt: createdAt,
      },
      {
        id: idOf('ISO_27001_2022'),
        frameworkType: 'ISO_27001_2022',
        auditType: 'DOWNLOAD_ONLY_AUDIT',
        isInternalAudit: true,
        status: 'COMPLETED',
        startDate: '2025-07-01',
        endDate: '2026-06-30',
        completedAt: '2026-07-17T14:30:00.000Z',
        createdAt,
        updatedAt: createdAt,
      },
    ])
    expect(pagination).toEqual({})
    expect(bodyOf(await list({}, acme.otherWorkspaceId), 200).data).toEqual([])
  })

  test('the list carries auditors of both kinds on request', async () => {
    const [first, second] = bodyOf(await list({ 'expand[]': ['auditors', 'internalAuditors'] }), 200).data

    expect(first?.auditors).toEqual([
      { id: expect.any(String), name: 'Eve Out', email: 'eve@auditors.example' },
      { id: expect.any(String), name: 'Zed Out', email: 'zed@auditors.example' },
    ])
    expect(first?.internalAuditors?.map(({ email }) => email)).toEqual(['ana@a.example', 'bo@a.example'])
    expect(second).toMatchObject({ auditors: [], internalAuditors: [] })
  })

  test('one audit carries its controls as well, with the numbers of their templates', async () => {
    const bare = bodyOf(await get(idOf('SOC_2_TYPE_2')), 200)
    const audit = bodyOf(await get(idOf('SOC_2_TYPE_2'), { 'expand[]': ['controls', 'auditors'] }), 200)

    expect(Object.keys(bare)).not.toContain('controls')
    expect(audit.controls).toEqual([
      { id: expect.any(Number), code: 'A-1', name: 'One', controlNumber: null },
      { id: expect.any(Number), code: 'A-2', name: 'Two', controlNumber: 907 },
    ])
    expect(audit.auditors).toHaveLength(2)
    expect(audit).not.toHaveProperty('internalAuditors')
    expect(bodyOf(await get(idOf('ISO_27001_2022'), { 'expand[]': ['controls'] }), 200).controls).toEqual([])
  })

  test('an id is found in whatever case it is written', async () => {
    const upper = await get(idOf('SOC_2_TYPE_2').toUpperCase())

    expect(bodyOf(upper, 200).id).toBe(idOf('SOC_2_TYPE_2'))
  })

  test('the list pages in both directions and counts nothing', async () => {
    const first = bodyOf(await list({ size: 1, sort: 'createdAt', sortDir: 'DESC' }), 200)
    const { cursor } = first.pagination
    const second = bodyOf(await list({ size: 1, sort: 'createdAt', sortDir: 'DESC', cursor }), 200)
    const inOtherOrder = await list({ size: 1, cursor })

    expect([...first.data, ...second.data].map(({ frameworkType }) => frameworkType)).toEqual([
      'ISO_27001_2022',
      'SOC_2_TYPE_2',
    ])
    expect(Object.keys(first.pagination)).toEqual(['cursor'])
    expect(second.pagination).toEqual({})
    expect(inOtherOrder.status).toBe(400)
  })

  test.each([
    ['an expansion of the other operation', 'audits?expand[]=controls'],
    ['a count', 'audits?includeTotalCount=maybe&size=0'],
    ['an unknown order', 'audits?sort=name'],
    ['a page of nothing', 'audits?size=0'],
    ['an id that is no UUID', 'audits/7'],
    ['an id with a NUL', 'audits/a%00b'],
    ['an unknown expansion', `audits/${randomUUID()}?expand[]=requests`],
  ])('%s is refused', async (_what, path) => {
    expect(await statusOf(`${acme.workspaceId}/${path}`)).toBe(400)
  })

  test('unknown ids and those of others are 404', async () => {
    const foreign = other.audits.SOC_2_TYPE_2 ?? ''

    const answers = await Promise.all([
      list({}, 999_999),
      list({}, other.workspaceId),
      list({}, Number.MAX_SAFE_INTEGER),
      get(randomUUID()),
      get(foreign),
      get(foreign, {}, other.workspaceId),
      get(idOf('SOC_2_TYPE_2'), {}, acme.otherWorkspaceId),
    ])

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404, 404])
  })

  test('reading requires the permission for audits', async () => {
    const reader = await opened.clientOf('Acme', ['audit-get'])
    const stranger = await opened.clientOf('Acme', ['controls-get'])
    const params = { workspaceId: acme.workspaceId }

    const answers = await Promise.all([reader.listAudits({ params }), stranger.listAudits({ params })])

    expect(answers.map(({ status }) => status)).toEqual([200, 403])
  })

  test('seeding again adds the audits and requests that are missing, and changes nothing else', async () => {
    const company = await newAuditCompany(opened, 'Again', [firstAudit])
    const before = bodyOf(await company.client.listAudits({ params: { workspaceId: company.workspaceId } }), 200).data
    opened.clock.advance(minuteMs)
    const more = { ...firstAudit, requests: [...(firstAudit.requests ?? []), { code: 'REQ-4', title: 'More' }] }

    await opened.operator.seed({ body: auditSeed('Again', [{ ...more, status: 'PREPARING' }, secondAudit]) })
    await opened.operator.seed({ body: auditSeed('Again', [more, secondAudit]) })

    const params = { workspaceId: company.workspaceId }
    const after = bodyOf(await company.client.listAudits({ params }), 200).data
    const auditId = company.audits.SOC_2_TYPE_2 ?? ''
    const requests = bodyOf(await company.client.listAuditRequests({ params: { ...params, auditId } }), 200).data
    expect(after).toEqual([before[0], expect.objectContaining({ frameworkType: 'ISO_27001_2022' })])
    expect(requests.map(({ code }) => code)).toEqual(['REQ-1', 'REQ-2', 'REQ-3', 'REQ-4'])
    expect((await company.events()).map(({ type, request_description }) => [type, request_description])).toEqual([
      ['AUDIT_CREATED', 'operator: platform seed'],
      ['CUSTOMER_REQUEST_DETAILS_EDITED', 'operator: platform seed'],
      ['CUSTOMER_REQUEST_DETAILS_EDITED', 'operator: platform seed'],
      ['AUDIT_CREATED', 'operator: platform seed'],
    ])
  })

  async function statusOf(path: string): Promise<number> {
    const { key } = await opened.operator.createKey({ body: { account: 'Acme', name: 'raw', permissions: 'all-read' } })
    const url = `${opened.platform.baseUrl}/workspaces/${path}`
    return (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status
  }
})
