import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EmploymentStatus } from '../../../src/contract/platform/personnel.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const hourMs = 3_600_000
const report = 'https://checks.example/1'

describe.each(databases)('the compliance of people on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let acme: Awaited<ReturnType<typeof newCompany>>

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    acme = await newCompany(opened)
    await acme.send([
      { identityId: 'a', email: 'ana@acme.example', isContractor: false },
      { identityId: 'b', email: 'bo@acme.example', isContractor: true },
      { identityId: 'c', email: 'cy@acme.example', isContractor: false, separatedAt: '2026-01-31T00:00:00Z' },
      { identityId: 'd', email: 'di@acme.example', isContractor: false, startedAt: '2026-12-01T00:00:00Z' },
      { identityId: 'e', email: 'ed@acme.example' },
    ])
    await acme.sync()
  })

  const check = async (email: string, url = report, filedAt = '2026-02-01') => {
    const { userId } = await acme.person(email)
    return acme.client.createBackgroundCheck({ body: { userId, filedAt, url } })
  }
  const having = async (...statuses: ('PASS' | 'FAIL' | 'EXCLUDED' | 'MISCONFIGURED')[]) => {
    const query = { 'complianceStatus[]': statuses, 'expand[]': ['user' as const], includeTotalCount: true }
    const { data, pagination } = bodyOf(await acme.client.listPersonnel({ query }), 200)
    expect(pagination.totalCount).toBe(data.length)
    return data.map(({ user }) => user?.email.slice(0, 2))
  }
  const checksOf = async (email: string) => {
    const answer = await acme.client.getPersonnel({
      params: { personnelId: `email:${email}` },
      query: { 'expand[]': ['complianceChecks'] },
    })
    return bodyOf(answer, 200).complianceChecks ?? []
  }

  test('whoever the sync just made is in their list by compliance', async () => {
    expect(await having('FAIL')).toEqual(['an', 'bo', 'ed'])
    expect(await having('EXCLUDED')).toEqual(['cy', 'di'])
    expect(await having('PASS', 'MISCONFIGURED')).toEqual([])
    expect(await having('FAIL', 'EXCLUDED')).toEqual(['an', 'bo', 'cy', 'di', 'ed'])
  })

  test('a background check makes a person pass, at once and for their list', async () => {
    expect((await check('ana@acme.example')).status).toBe(201)

    expect(await having('PASS')).toEqual(['an'])
    expect(await having('FAIL')).toEqual(['bo', 'ed'])
  })

  test('the checks of a person say when the background check was completed and recorded', async () => {
    const person = await acme.person('ana@acme.example')
    const before = await checksOf('ana@acme.example')
    opened.clock.advance(hourMs)
    await check('ana@acme.example')

    const after = await checksOf('ana@acme.example')

    const created = person.createdAt
    const open = { status: 'FAIL', expiresAt: null, lastCheckedAt: null, completionDate: null, createdAt: created }
    expect(before).toEqual([
      { id: person.id * 16, type: 'FULL_COMPLIANCE', checkFrequency: 'DAILY', updatedAt: created, ...open },
      { id: person.id * 16 + 3, type: 'BG_CHECK', checkFrequency: 'ONCE', updatedAt: created, ...open },
    ])
    const now = opened.clock.now().toISOString()
    expect(after).toEqual(
      before.map((entry) => ({
        ...entry,
        status: 'PASS',
        lastCheckedAt: now,
        completionDate: '2026-02-01T00:00:00.000Z',
        updatedAt: now,
      })),
    )
  })

  test('the latest of several background checks is used', async () => {
    await check('ana@acme.example', report, '2026-02-02')
    await check('ana@acme.example', report, '2024-02-02')

    const [full] = await checksOf('ana@acme.example')

    expect(full?.completionDate).toBe('2026-02-02T00:00:00.000Z')
  })

  test('compliance follows the employment: a leaver is excluded, and passes again on return', async () => {
    await check('ana@acme.example')
    await acme.send([{ identityId: 'a', separatedAt: '2026-02-15T00:00:00Z' }])
    await acme.sync()
    const afterDeparture = await checksOf('ana@acme.example')

    await acme.send([{ identityId: 'a', separatedAt: null }])
    await acme.sync()
    const back = await checksOf('ana@acme.example')

    expect(afterDeparture.map(({ status }) => status)).toEqual(['EXCLUDED', 'EXCLUDED'])
    expect(back.map(({ status }) => status)).toEqual(['PASS', 'PASS'])
  })

  test.each(EmploymentStatus.options)('%s is either in scope or excluded', async (status) => {
    const inScope = ['CURRENT_EMPLOYEE', 'CURRENT_CONTRACTOR', 'UNKNOWN'].includes(status)
    await acme.setByHand('ana@acme.example', status)

    const [full] = await checksOf('ana@acme.example')

    expect(full?.status).toBe(inScope ? 'FAIL' : 'EXCLUDED')
  })
})
