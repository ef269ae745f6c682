import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NewAudit, NewAuditRequest } from '../../../src/platform/audits/audit-input.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type AuditCompany, newAuditCompany } from '../helpers/audit-company.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const input = { framework: 'HIPAA', startDate: '2026-02-01', endDate: '2026-02-28' }

describe.each(databases)('operating audits on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let acme: AuditCompany

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    acme = await newAuditCompany(opened, 'Acme')
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const create = (overrides: object = {}, workspace = 'Cloud', account = 'Acme') =>
    opened.operator.createAudit({ body: { account, workspace, audit: NewAudit.parse({ ...input, ...overrides }) } })
  const audit = async (auditId: string, expand: ('auditors' | 'internalAuditors' | 'controls')[] = []) =>
    bodyOf(
      await acme.client.getAudit({
        params: { workspaceId: acme.workspaceId, auditId },
        query: { 'expand[]': expand },
      }),
      200,
    )
  const request = async (auditId: string, requestId: number) =>
    bodyOf(
      await acme.client.getAuditRequest({
        params: { workspaceId: acme.workspaceId, auditId, requestId },
        query: { 'expand[]': ['owners', 'messages', 'controls'] },
      }),
      200,
    )

  test('an audit is opened with its people, controls and requests', async () => {
    const { id, status } = await create({
      auditors: [
        { name: 'Renamed', email: 'EVE@auditors.example' },
        { name: 'New', email: 'new@auditors.example' },
      ],
      internalAuditors: ['cy@a.example'],
      controls: ['A-1'],
      requests: [{ code: 'R', title: 'Show us', messages: [{ message: 'Soon.', by: 'new@auditors.example' }] }],
    })

    const shown = await audit(id, ['auditors', 'internalAuditors', 'controls'])
    expect(status).toBe('PREPARING')
    expect(shown.auditors?.map(({ name }) => name)).toEqual(['Eve Out', 'New'])
    expect(shown.internalAuditors?.map(({ email }) => email)).toEqual(['cy@a.example'])
    expect(shown.controls?.map(({ code }) => code)).toEqual(['A-1'])
    expect((await acme.events()).slice(-2)).toEqual([
      {
        type: 'AUDIT_CREATED',
        description: 'Opened an audit of HIPAA.',
        source: 'APP',
        request_description: 'operator: platform audits create',
      },
      expect.objectContaining({ type: 'CUSTOMER_REQUEST_DETAILS_EDITED' }),
    ])
  })

  test('the same auditor has the same id in every audit', async () => {
    const auditors = [{ name: 'Eve Out', email: 'eve@auditors.example' }]
    const { id } = await create({ framework: 'GDPR', auditors })

    const here = (await audit(id, ['auditors'])).auditors?.[0]?.id
    const there = (await audit(acme.audits.SOC_2_TYPE_2 ?? '', ['auditors'])).auditors?.[0]?.id
    expect(here).toBe(there)
  })

  test('one framework and period has one audit in a workspace, also when two are opened at once', async () => {
    const outcomes = await Promise.allSettled([create({ framework: 'PCI4' }), create({ framework: 'PCI4' })])
    const elsewhere = await create({ framework: 'PCI4' }, 'Pay')

    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'conflict' } })
    expect(elsewhere.status).toBe('PREPARING')
  })

  test.each([
    ['account', {}, 'Cloud', 'Nobody'],
    ['workspace', {}, 'Moon', 'Acme'],
    ['user', { framework: 'NIS2', internalAuditors: ['no@a.example'] }, 'Cloud', 'Acme'],
    ['control', { framework: 'NIS2', controls: ['P-1'] }, 'Cloud', 'Acme'],
    ['user', { framework: 'NIS2', requests: [{ code: 'R', title: 'T', owners: ['x@y.example'] }] }, 'Cloud', 'Acme'],
    [
      'auditor',
      { framework: 'NIS2', requests: [{ code: 'R', title: 'T', messages: [{ message: 'm', by: 'x@y.example' }] }] },
      'Cloud',
      'Acme',
    ],
  ])('an unknown %s leaves nothing behind', async (noun, overrides, workspace, account) => {
    const opening = create(overrides, workspace, account)

    await expect(opening).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining(noun) })
    const params = { workspaceId: acme.workspaceId }
    const frameworks = bodyOf(await acme.client.listAudits({ params }), 200).data.map((one) => one.frameworkType)
    expect(frameworks).not.toContain('NIS2')
  })

  test('an audit can get any status, and is completed while its status says so', async () => {
    const { id } = await create({ framework: 'DORA' })
    const { createdAt } = await audit(id)
    opened.clock.advance(minuteMs)
    const completedAt = opened.clock.now().toISOString()

    const moved = await opened.operator.setAuditStatus({ params: { auditId: id }, body: { status: 'COMPLETED' } })
    const completed = await audit(id)
    opened.clock.advance(minuteMs)
    await opened.operator.setAuditStatus({ params: { auditId: id }, body: { status: 'COMPLETED' } })
    const again = await audit(id)
    await opened.operator.setAuditStatus({
      params: { auditId: id },
      body: { status: 'COMPLETED', completedAt: '2026-03-01T00:00:00Z' },
    })
    const corrected = await audit(id)
    await opened.operator.setAuditStatus({ params: { auditId: id }, body: { status: 'ACTIVE' } })
    const reopened = await audit(id)

    expect(moved).toEqual({ id, status: 'COMPLETED' })
    expect(completed).toMatchObject({ status: 'COMPLETED', completedAt, createdAt, updatedAt: completedAt })
    expect(again).toEqual(completed)
    expect(corrected.completedAt).toBe('2026-03-01T00:00:00.000Z')
    expect(reopened).toMatchObject({ status: 'ACTIVE', completedAt: null })
    expect((await acme.events()).filter(({ type }) => type === 'AUDIT_STATUS_CHANGED')).toHaveLength(3)
  })

  test('requests are added, moved and talked about', async () => {
    const { id } = await create({ framework: 'CIS8' })
    const newRequest = { code: 'R-1', title: 'Show us', owners: ['ana@a.example'], controls: ['A-2'] }
    const added = await opened.operator.createAuditRequest({
      params: { auditId: id },
      body: NewAuditRequest.parse(newRequest),
    })
    const before = await request(id, added.id)
    opened.clock.advance(minuteMs)

    await opened.operator.setAuditRequestStatus({ params: { requestId: added.id }, body: { status: 'OUTSTANDING' } })
    const same = await request(id, added.id)
    await opened.operator.setAuditRequestStatus({ params: { requestId: added.id }, body: { status: 'IN_REVIEW' } })
    opened.clock.advance(minuteMs)
    await opened.operator.addAuditRequestMessage({
      params: { requestId: added.id },
      body: { message: 'Here.', by: 'BO@a.example' },
    })
    const after = await request(id, added.id)

    expect(added.status).toBe('OUTSTANDING')
    expect(same).toEqual(before)
    expect(after).toMatchObject({ status: 'IN_REVIEW', updatedAt: opened.clock.now().toISOString() })
    expect(after.owners?.map(({ email }) => email)).toEqual(['ana@a.example'])
    expect(after.controls?.map(({ code }) => code)).toEqual(['A-2'])
    expect(after.messages?.map(({ message, sentByEmail }) => [message, sentByEmail])).toEqual([
      ['Here.', 'BO@a.example'],
    ])
    expect((await acme.events()).slice(-2).map(({ type }) => type)).toEqual([
      'REQUEST_STATUS_CHANGED',
      'REQUEST_MESSAGE_SENT',
    ])
  })

  test('a code is unique in an audit, also if two requests arrive at once', async () => {
    const { id } = await create({ framework: 'COBIT' })
    const newRequest = NewAuditRequest.parse({ code: 'R-1', title: 'Show us' })

    const outcomes = await Promise.allSettled([
      opened.operator.createAuditRequest({ params: { auditId: id }, body: newRequest }),
      opened.operator.createAuditRequest({ params: { auditId: id }, body: newRequest }),
    ])

    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'conflict' } })
  })

  test('unknown ids are not found', async () => {
    const nowhere = randomUUID()
    const { id } = await create({ framework: 'TISAX' })
    const added = await opened.operator.createAuditRequest({
      params: { auditId: id },
      body: NewAuditRequest.parse({ code: 'R', title: 'T' }),
    })

    const attempts = [
      opened.operator.setAuditStatus({ params: { auditId: nowhere }, body: { status: 'ACTIVE' } }),
      opened.operator.createAuditRequest({
        params: { auditId: nowhere },
        body: NewAuditRequest.parse({ code: 'R', title: 'T' }),
      }),
      opened.operator.setAuditRequestStatus({ params: { requestId: 999_999 }, body: { status: 'ACCEPTED' } }),
      opened.operator.addAuditRequestMessage({ params: { requestId: 999_999 }, body: { message: 'x', by: null } }),
      opened.operator.addAuditRequestMessage({
        params: { requestId: added.id },
        body: { message: 'x', by: 'zed@auditors.example' },
      }),
    ]

    const codes = await Promise.all(attempts.map((attempt) => attempt.catch((error: unknown) => error)))
    expect(codes).toMatchObject(attempts.map(() => ({ code: 'not_found' })))
  })

  test('a control that is deleted leaves its audits', async () => {
    const { id } = await create({ framework: 'CCM', controls: ['A-1'] })
    const { db } = opened.platform.database
    await db.deleteFrom('controls').where('workspace_id', '=', acme.workspaceId).where('code', '=', 'A-1').execute()

    expect((await audit(id, ['controls'])).controls).toEqual([])
  })
})
