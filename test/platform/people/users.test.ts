import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import {
  bodyOf,
  newHrisConnection,
  openTestPlatform,
  type PlatformClient,
  type TestAccount,
  type TestPlatform,
} from '../helpers/platforms.ts'

const minuteMs = 60_000
type Query = NonNullable<Parameters<PlatformClient['listUsers']>[0]['query']>

describe.each(databases)('users on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let account: TestAccount
  let client: PlatformClient
  let connectionId: number

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    account = await opened.newAccount()
    client = account.client
    connectionId = await newHrisConnection(client)
  })

  const hire = async (...records: { identityId: string; [field: string]: unknown }[]) => {
    await client.upsertHrisUserIdentities({ params: { connectionId }, body: records as never })
    await opened.operator.syncIdentities({ body: { account: account.name } })
  }
  const list = async (query: Query) => bodyOf(await client.listUsers({ query }), 200).data
  const get = async (userId: number | `email:${string}`, query: Query = {}) =>
    client.getUser({ params: { userId }, query })
  const named = async (query: Query) => (await list(query)).map(({ firstName, lastName }) => `${firstName} ${lastName}`)

  test('a user created by the identity sync is read by number and by address', async () => {
    await hire({ identityId: 'a', email: 'Ana@acme.example', firstName: 'Ana', lastName: 'Ito', jobTitle: 'Pilot' })

    const byAddress = bodyOf(await get('email:ana@ACME.example'), 200)
    const byNumber = bodyOf(await get(byAddress.id), 200)

    expect(byNumber).toEqual(byAddress)
    expect(byNumber).toEqual({
      id: expect.any(Number),
      email: 'Ana@acme.example',
      firstName: 'Ana',
      lastName: 'Ito',
      createdAt: opened.clock.now().toISOString(),
      updatedAt: opened.clock.now().toISOString(),
      jobTitle: 'Pilot',
      avatarUrl: null,
      drataTermsAgreedAt: null,
    })
  })

  test('people are employees, and API keys are listed as service users', async () => {
    await hire({ identityId: 'a', email: 'ana@acme.example' })

    const users = await list({ 'expand[]': ['roles'] })

    expect(users.map(({ email, roles }) => [email.split('@')[1], roles])).toEqual([
      ['api-key.invalid', ['SERVICE_USER']],
      ['acme.example', ['EMPLOYEE']],
    ])
  })

  test('linked identities show their record and their connection', async () => {
    const separatedAt = '2027-01-31T00:00:00.000Z'
    await hire({ identityId: 'a', email: 'ana@acme.example', managerName: 'Bo', isContractor: false, separatedAt })

    const user = bodyOf(await get('email:ana@acme.example', { 'expand[]': ['identities'] }), 200)

    const now = opened.clock.now().toISOString()
    expect(user.identities).toEqual([
      {
        id: expect.any(Number),
        identityId: 'a',
        username: null,
        connectedAt: now,
        disconnectedAt: null,
        hasMfa: null,
        userId: user.id,
        connectionId,
        connection: {
          id: connectionId,
          clientType: 'CUSTOM_HRIS',
          clientId: null,
          clientAlias: 'HR',
          state: 'ACTIVE',
          createdAt: now,
          updatedAt: now,
          connectedAt: now,
          failedAt: null,
          deletedAt: null,
        },
        email: 'ana@acme.example',
        secondaryEmail: null,
        firstName: null,
        lastName: null,
        startedAt: null,
        separatedAt,
        isContractor: false,
        jobTitle: null,
        managerId: null,
        managerName: 'Bo',
        createdAt: now,
        updatedAt: now,
      },
    ])
  })

  test('a deleted record is linked to nobody, and its job title is gone', async () => {
    await hire({ identityId: 'a', email: 'ana@acme.example', jobTitle: 'Pilot' })
    const before = bodyOf(await get('email:ana@acme.example', { 'expand[]': ['identities'] }), 200)
    const userIdentityId = before.identities?.[0]?.id ?? 0

    await client.deleteHrisUserIdentity({ params: { connectionId, userIdentityId } })

    const after = bodyOf(await get(before.id, { 'expand[]': ['identities'] }), 200)
    expect(after).toMatchObject({ identities: [], jobTitle: null })
  })

  test('of several records, the one that speaks for the person gives the job title and comes first', async () => {
    await hire(
      { identityId: 'a', email: 'ana@acme.example', jobTitle: 'Left', separatedAt: '2026-01-31T00:00:00.000Z' },
      { identityId: 'b', email: 'ana@acme.example', jobTitle: 'Pilot', startedAt: '2026-02-01T00:00:00.000Z' },
      { identityId: 'c', email: 'ana@acme.example', jobTitle: 'Captain', startedAt: '2026-12-01T00:00:00.000Z' },
    )

    const user = bodyOf(await get('email:ana@acme.example', { 'expand[]': ['identities'] }), 200)

    expect(user.jobTitle).toBe('Pilot')
    expect(user.identities?.map(({ identityId }) => identityId)).toEqual(['b', 'c', 'a'])
  })

  test('expansions without data are empty, and personnel adds nothing', async () => {
    await hire({ identityId: 'a', email: 'ana@acme.example' })
    const plain = bodyOf(await get('email:ana@acme.example'), 200)

    const expanded = bodyOf(await get(plain.id, { 'expand[]': ['backgroundChecks', 'documents', 'personnel'] }), 200)

    expect(expanded).toEqual({ ...plain, backgroundChecks: [], documents: [] })
  })

  test('names are filtered by how they begin, whatever their case', async () => {
    await hire(
      { identityId: 'a', email: 'a@acme.example', firstName: 'Ana', lastName: 'Ito' },
      { identityId: 'b', email: 'b@acme.example', firstName: 'Anabel', lastName: 'Roy' },
      { identityId: 'c', email: 'c@acme.example', firstName: 'Joana', lastName: 'Ito' },
      { identityId: 'd', email: 'd@acme.example', firstName: 'Ângela', lastName: 'Ito' },
      { identityId: 'e', email: 'e@acme.example', firstName: 'ΘΩΜΑΣΊΝΑ', lastName: 'Roy' },
    )

    expect(await named({ firstName: 'aNA' })).toEqual(['Ana Ito', 'Anabel Roy'])
    expect(await named({ firstName: 'ana', lastName: 'R' })).toEqual(['Anabel Roy'])
    expect(await named({ lastName: 'it' })).toEqual(['Ana Ito', 'Joana Ito', 'Ângela Ito'])
    expect(await named({ firstName: 'âNG' })).toEqual(['Ângela Ito'])
    expect(await named({ firstName: 'θωμας' })).toEqual(['ΘΩΜΑΣΊΝΑ Roy'])
    expect(await named({ firstName: 'n' })).toEqual([])
  })

  test.each(['%', '_', '\\', 'A%', 'A_'])('%s in a filter stands for itself', async (text) => {
    await hire(
      { identityId: 'a', email: 'a@acme.example', firstName: 'Ana' },
      { identityId: 'b', email: 'b@acme.example', firstName: `${text}na` },
    )

    const matches = await list({ firstName: text })

    expect(matches.map(({ firstName }) => firstName)).toEqual([`${text}na`])
  })

  test('a walk by filter ends, counts its matches, and refuses the cursor for another filter', async () => {
    await hire(
      { identityId: 'a', email: 'a@acme.example', firstName: 'Ana' },
      { identityId: 'b', email: 'b@acme.example', firstName: 'Anna' },
      { identityId: 'c', email: 'c@acme.example', firstName: 'Bo' },
    )
    const first = bodyOf(await client.listUsers({ query: { firstName: 'an', size: 1, includeTotalCount: true } }), 200)
    const cursor = first.pagination.cursor ?? ''

    const second = bodyOf(await client.listUsers({ query: { firstName: 'an', size: 1, cursor } }), 200)
    const other = await client.listUsers({ query: { firstName: 'b', size: 1, cursor } })

    expect(first.pagination.totalCount).toBe(2)
    expect(second.data.map(({ firstName }) => firstName)).toEqual(['Anna'])
    expect(second.pagination).toEqual({})
    expect(other.status).toBe(400)
  })

  test('users are listed by their last change', async () => {
    await hire({ identityId: 'a', email: 'a@acme.example', firstName: 'Ana' })
    await hire({ identityId: 'b', email: 'b@acme.example', firstName: 'Bo' })
    opened.clock.advance(minuteMs)
    await hire({ identityId: 'a', firstName: 'Anna' })

    const [latest] = await list({ sort: 'updatedAt', sortDir: 'DESC' })

    expect(latest).toMatchObject({ email: 'a@acme.example', firstName: 'Anna' })
  })

  test.each([9_007_199_254_740_991, 'email:nobody@acme.example', 'email:a\0b'] as const)(
    'the user %s is not there',
    async (userId) => {
      expect((await get(userId as never)).status).toBe(404)
    },
  )

  test.each(['ana', '0', '1e3', '9007199254740993', 'EMAIL:a@b.example'])(
    'the reference %s is refused with 400',
    async (userId) => {
      expect((await get(userId as never)).status).toBe(400)
    },
  )

  test("another account's users are as absent as none", async () => {
    const stranger = await opened.newAccount()
    await hire({ identityId: 'a', email: 'ana@acme.example' })
    const { id } = bodyOf(await get('email:ana@acme.example'), 200)

    const answers = [
      await stranger.client.getUser({ params: { userId: id }, query: {} }),
      await stranger.client.getUser({ params: { userId: 'email:ana@acme.example' }, query: {} }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404])
    const users = bodyOf(await stranger.client.listUsers({ query: {} }), 200).data
    expect(users.map((user) => user.id)).not.toContain(id)
  })

  test.each([{ firstName: 'a\0' }, { firstName: 'a'.repeat(192) }, { sort: 'name' as never }, { size: 501 }])(
    'the query %j is refused with 400',
    async (query) => {
      expect((await client.listUsers({ query })).status).toBe(400)
    },
  )
})
