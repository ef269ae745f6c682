import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { BackgroundCheckCreate } from '../../../src/contract/platform/background-checks.ts'
import type { EmploymentStatus } from '../../../src/contract/platform/personnel.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const nora = { email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' }

describe.each(databases)('background checks on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let acme: Awaited<ReturnType<typeof newCompany>>
  let valid: BackgroundCheckCreate

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    acme = await newCompany(opened, [nora])
    const { userId } = await acme.person(nora.email)
    valid = { userId, filedAt: '2026-02-01', url: 'https://checks.example/reports/1?of=nora#page' }
  })

  const create = (body: BackgroundCheckCreate) => acme.client.createBackgroundCheck({ body })
  const checksOf = async (userId: number) => {
    const query = { 'expand[]': ['backgroundChecks' as const] }
    return bodyOf(await acme.client.getUser({ params: { userId }, query }), 200).backgroundChecks
  }
  const bgEvents = async () => {
    const query = { type: 'BACKGROUND_CHECK_MANUAL', 'expand[]': ['metadata' as const, 'user' as const] }
    return bodyOf(await acme.client.listEvents({ query }), 200).data
  }

  test('a check returns the person and changes their entry', async () => {
    const before = await acme.person(nora.email)
    opened.clock.advance(minuteMs)

    const answer = await create(valid)

    expect(bodyOf(answer, 201)).toEqual({
      id: before.id,
      employmentStatus: 'UNKNOWN',
      userId: before.userId,
      email: nora.email,
      createdAt: before.createdAt,
      updatedAt: opened.clock.now().toISOString(),
    })
    expect((await acme.person(nora.email)).updatedAt).toBe(opened.clock.now().toISOString())
  })

  test('a check is read back with its user', async () => {
    await create(valid)

    const now = opened.clock.now().toISOString()
    expect(await checksOf(valid.userId)).toEqual([
      {
        id: expect.any(Number),
        userId: valid.userId,
        status: 'OK',
        caseId: null,
        caseInvitationId: '',
        url: valid.url,
        manualCheckDate: '2026-02-01',
        manuallyCheckUrl: valid.url,
        type: 'MANUAL',
        source: null,
        reportData: '',
        outOfScopeReason: null,
        outOfScopeAt: null,
        invitationEmail: null,
        linkedAt: now,
        createdAt: now,
        updatedAt: now,
      },
    ])
  })

  test('an event says which key recorded it and about whom', async () => {
    const { id } = bodyOf(await create(valid), 201)

    const events = await bgEvents()

    const [check] = (await checksOf(valid.userId)) ?? []
    expect(events).toMatchObject([
      {
        category: 'PERSONNEL',
        source: 'PUBLIC_API',
        requestDescription: 'POST /background-checks',
        user: { firstName: 'test' },
        metadata: {
          targetEntity: { kind: 'backgroundCheck', id: check?.id },
          targetEntities: [{ kind: 'personnel', id }],
        },
      },
    ])
  })

  test('a later check, and another report of the same day, are checks of their own', async () => {
    const answers = [
      await create(valid),
      await create({ ...valid, filedAt: '2026-02-28' }),
      await create({ ...valid, url: 'https://checks.example/reports/2' }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(await checksOf(valid.userId)).toHaveLength(3)
  })

  test('the same report twice is a conflict that changes nothing', async () => {
    const first = bodyOf(await create(valid), 201)
    opened.clock.advance(minuteMs)

    const again = await create(valid)

    expect(again).toMatchObject({ status: 409, error: { name: 'BACKGROUND_CHECK_ALREADY_STARTED' } })
    expect((await acme.person(nora.email)).updatedAt).toBe(first.updatedAt)
    expect(await bgEvents()).toHaveLength(1)
  })

  test('of many requests with the same report at once, one wins', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(valid)))

    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 409)])
    expect(await checksOf(valid.userId)).toHaveLength(1)
    expect(await bgEvents()).toHaveLength(1)
  })

  test.each<[EmploymentStatus, string]>([
    ['FUTURE_HIRE', 'PERSONNEL_IS_FUTURE_HIRE'],
    ['FORMER_EMPLOYEE', 'PERSONNEL_IS_FORMER'],
    ['FORMER_CONTRACTOR', 'PERSONNEL_IS_FORMER'],
    ['SPECIAL_FORMER_EMPLOYEE', 'PERSONNEL_IS_FORMER'],
    ['SPECIAL_FORMER_CONTRACTOR', 'PERSONNEL_IS_FORMER'],
    ['OUT_OF_SCOPE', 'PERSONNEL_IS_OUT_OF_SCOPE'],
    ['SERVICE_ACCOUNT', 'PERSONNEL_IS_OUT_OF_SCOPE'],
  ])('somebody who is %s cannot be checked: %s', async (status, name) => {
    await acme.setByHand(nora.email, status)

    const answer = await create(valid)

    expect(answer).toMatchObject({ status: 409, error: { name } })
    expect(await checksOf(valid.userId)).toEqual([])
  })

  test.each<EmploymentStatus>(['CURRENT_EMPLOYEE', 'CURRENT_CONTRACTOR', 'UNKNOWN'])(
    'somebody who is %s can be checked',
    async (status) => {
      await acme.setByHand(nora.email, status)

      expect((await create(valid)).status).toBe(201)
    },
  )

  test('a user outside the personnel cannot be checked', async () => {
    const users = bodyOf(await acme.client.listUsers({ query: { firstName: 'test' } }), 200).data

    const answer = await create({ ...valid, userId: users[0]?.id ?? 0 })

    expect(answer).toMatchObject({ status: 409, error: { name: 'PERSONNEL_NOT_ACTIVE' } })
  })

  test("an unknown user and another account's user are 404", async () => {
    const stranger = await opened.newAccount()

    const answers = [
      await create({ ...valid, userId: 9_007_199_254_740_991 }),
      await stranger.client.createBackgroundCheck({ body: valid }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404])
  })

  test.each<[string, object]>([
    ['no url', { url: undefined }],
    ['an empty url', { url: '' }],
    ['a url without an address', { url: 'report 7' }],
    ['a url of another protocol', { url: 'javascript:alert(1)' }],
    ['a url with NUL', { url: 'https://checks.example/\0' }],
    ['a url of 769 characters', { url: `https://checks.example/${'x'.repeat(746)}` }],
    ['an uploaded file in its place', { url: undefined, fileKey: 'key' }],
    ['an uploaded file beside it', { fileKey: 'key' }],
    ['no day', { filedAt: undefined }],
    ['a moment', { filedAt: '2026-02-01T00:00:00Z' }],
    ['a day that does not exist', { filedAt: '2026-02-30' }],
    ['a day before all counting', { filedAt: '0000-01-01' }],
    ['the day after tomorrow', { filedAt: '2027-03-04' }],
    ['a user id as text', { userId: '1' }],
    ['a user id beyond all numbers', { userId: 1e300 }],
    ['half a user id', { userId: 1.5 }],
  ])('%s is refused with 400', async (_what, change) => {
    const answer = await create({ ...valid, ...change } as BackgroundCheckCreate)

    expect(answer.status).toBe(400)
    expect(await checksOf(valid.userId)).toEqual([])
  })

  test('an uploaded file is refused because this server accepts none', async () => {
    const answer = await create({ ...valid, fileKey: 'key' as never })

    expect(answer).toMatchObject({ status: 400, error: { message: expect.stringContaining('takes no uploads') } })
  })

  test('a url of 768 characters is kept as it is', async () => {
    const url = `https://checks.example/${'é'.repeat(745)}`

    expect((await create({ ...valid, url })).status).toBe(201)

    expect(await checksOf(valid.userId)).toMatchObject([{ url }])
  })

  test('a check while an identity sync changes the person leaves no error of the server', async () => {
    await acme.send([{ identityId: 'a', email: nora.email, isContractor: false }])

    const [answer] = await Promise.all([create(valid), acme.sync()])

    expect(answer.status).toBe(201)
    expect(await acme.person(nora.email)).toMatchObject({ employmentStatus: 'CURRENT_EMPLOYEE' })
  })
})
