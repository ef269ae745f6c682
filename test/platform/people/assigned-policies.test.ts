import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const acceptedAt = '2026-02-01T09:00:00.000Z'
const dayMs = 24 * 3_600_000

const policies = [
  { name: 'For all', assignedTo: 'ALL' },
  { name: 'For employees', assignedTo: 'ALL', employmentStatuses: ['CURRENT_EMPLOYEE'] },
  { name: 'To know', assignedTo: 'ALL', requiresAcknowledgment: false },
  { name: 'For nobody' },
] as const

describe.each(databases)('assigned policies on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function open() {
    const company = await newDemandingCompany(opened, { policies })
    const list = async (userId: number) => {
      const query = { 'expand[]': ['policy' as const, 'policyVersion' as const] }
      return bodyOf(await company.client.listAssignedPolicies({ params: { userId }, query }), 200).data
    }
    return {
      ...company,
      list,
      namesOf: async (userId: number) => (await list(userId)).map(({ policy }) => policy?.name),
      accept: async (userId: number, name: string, body: object = {}) => {
        const policyId = (await list(userId)).find(({ policy }) => policy?.name === name)?.policyId ?? 0
        return company.client.acknowledgePolicy({ params: { userId, policyId }, body: { acceptedAt, ...body } })
      },
    }
  }

  test('a policy is assigned to those it is for, in scope and by employment', async () => {
    const { ana, bo, namesOf } = await open()

    const names = [await namesOf(ana.userId), await namesOf(bo.userId)]

    expect(names).toEqual([
      ['For all', 'For employees', 'To know'],
      ['For all', 'To know'],
    ])
  })

  test('an assigned policy shows its version, and who has acknowledged nothing yet', async () => {
    const { ana, list } = await open()

    const [first] = await list(ana.userId)

    const now = opened.clock.now().toISOString()
    const times = { createdAt: now, updatedAt: now }
    expect(first).toEqual({
      id: expect.any(Number),
      acceptedAt: null,
      sourceType: 'UNKNOWN',
      details: null,
      policyId: first?.policy?.id,
      policyVersionId: first?.policyVersion?.id,
      ...times,
      policy: {
        id: expect.any(Number),
        name: 'For all',
        description: 'Ours.',
        assignedTo: 'ALL',
        policyStatus: 'ACTIVE',
        renewalDate: '2027-03-02',
        ...times,
      },
      policyVersion: {
        id: expect.any(Number),
        version: 1,
        subVersion: 0,
        current: true,
        type: 'EXTERNAL',
        renewalDate: '2027-03-02',
        description: null,
        approvedAt: now,
        publishedAt: now,
        changesExplanation: null,
        requiresAcknowledgment: true,
        ...times,
      },
    })
  })

  test('acknowledging the last policy that demands it changes the check, the person and the event trail', async () => {
    const { ana, accept, checksOf, events, person } = await open()
    await accept(ana.userId, 'For all')
    const before = await checksOf(ana.id)
    opened.clock.advance(dayMs)

    const answer = await accept(ana.userId, 'For employees', { details: 'On paper. \u{1f600} "quoted"' })

    const now = opened.clock.now().toISOString()
    expect(bodyOf(answer, 201)).toMatchObject({
      acceptedAt,
      sourceType: 'PUBLIC_API',
      details: 'On paper. \u{1f600} "quoted"',
      updatedAt: now,
    })
    expect(before.ACCEPTED_POLICIES).toBe('FAIL')
    expect((await checksOf(ana.id)).ACCEPTED_POLICIES).toBe('PASS')
    expect((await person('ana@acme.example')).updatedAt).toBe(now)
    expect((await events())[0]).toBe('USER_POLICY_ACCEPTED')
  })

  test('a policy is acknowledged once, for whom it is assigned to, within the last year', async () => {
    const { ana, bo, client, accept, list } = await open()
    const forEmployees = (await list(ana.userId)).find(({ policy }) => policy?.name === 'For employees')
    await accept(ana.userId, 'For all')

    const answers = [
      await accept(ana.userId, 'For all'),
      await client.acknowledgePolicy({
        params: { userId: bo.userId, policyId: forEmployees?.policyId ?? 0 },
        body: { acceptedAt },
      }),
      await accept(bo.userId, 'For all', { acceptedAt: '2025-03-01T00:00:00Z' }),
      await accept(bo.userId, 'For all', { acceptedAt: new Date(opened.clock.now().getTime() + 1).toISOString() }),
      await client.acknowledgePolicy({ params: { userId: 999_999, policyId: 1 }, body: { acceptedAt } }),
      await client.listAssignedPolicies({ params: { userId: 'email:nobody@acme.example' }, query: {} }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([409, 404, 400, 400, 404, 404])
  })

  test('of several requests at once to acknowledge one policy, one is recorded', async () => {
    const { ana, accept } = await open()

    const answers = await Promise.all([1, 2, 3, 4].map(() => accept(ana.userId, 'For all')))

    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  })

  test('a new version has to be acknowledged again; the acknowledgement of the old one is not shown', async () => {
    const { ana, accept, seed, list, checksOf } = await open()
    await accept(ana.userId, 'For all')
    await accept(ana.userId, 'For employees')
    expect((await checksOf(ana.id)).ACCEPTED_POLICIES).toBe('PASS')

    await seed([{ name: 'For all', version: 2 }])

    const shown = (await list(ana.userId)).filter(({ policy }) => policy?.name === 'For all')
    expect(shown.map(({ acceptedAt: at, policyVersion }) => [at, policyVersion?.version])).toEqual([[null, 2]])
    expect((await checksOf(ana.id)).ACCEPTED_POLICIES).toBe('FAIL')
  })

  test('assignment follows the employment, and an acknowledgement is remembered', async () => {
    const { ana, accept, send, sync, namesOf, list } = await open()
    await accept(ana.userId, 'For employees')

    await send([{ identityId: 'a', isContractor: true }])
    await sync()
    const asContractor = await namesOf(ana.userId)
    await send([{ identityId: 'a', separatedAt: '2026-02-28T00:00:00Z' }])
    await sync()
    const asLeaver = await namesOf(ana.userId)
    await send([{ identityId: 'a', separatedAt: null, isContractor: false }])
    await sync()

    expect(asContractor).toEqual(['For all', 'To know'])
    expect(asLeaver).toEqual([])
    const back = (await list(ana.userId)).map((entry) => [entry.policy?.name, entry.acceptedAt])
    expect(back).toEqual(
      expect.arrayContaining([
        ['For employees', acceptedAt],
        ['For all', null],
      ]),
    )
    expect(back).toHaveLength(3)
  })
})
