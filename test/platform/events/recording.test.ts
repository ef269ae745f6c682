import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { syncIdentities } from '../../../src/platform/identity-sync/identity-sync.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type PlatformClient, type TestPlatform } from '../helpers/platforms.ts'

describe.each(databases)('recorded events on $name', ({ createDatabase }) => {
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
  })

  const eventsOf = async (client: PlatformClient, type?: string) => {
    const query = { 'expand[]': ['metadata' as const], size: 500, ...(type && { type }) }
    return bodyOf(await client.listEvents({ query }), 200).data
  }
  const sent = async (...records: { identityId: string; [field: string]: unknown }[]) => {
    await acme.send(records)
    await acme.sync()
  }

  test('an identity sync records its counts, and no event for each new person', async () => {
    await sent(
      { identityId: 'a', email: 'ana@acme.example', isContractor: false },
      { identityId: 'b', email: 'bo@acme.example', isContractor: true },
    )

    const [event, ...others] = await eventsOf(acme.client, 'USER_IDENTITY_PERSONNEL_SYNCED')

    expect(others).toEqual([])
    expect(event).toMatchObject({
      category: 'PERSONNEL',
      source: 'APP',
      userId: null,
      requestDescription: 'operator: sync-identities',
      description: 'Identity sync read 2 HR records: 2 people were created and 0 changed',
      metadata: { targetEntity: { kind: 'identitySync', id: expect.any(Number) } },
      createdAt: opened.clock.now().toISOString(),
    })
    expect(await eventsOf(acme.client, 'EMPLOYMENT_STATUS_UPDATED')).toEqual([])
  })

  test('each person whose status an identity sync changed has an event, and nobody else', async () => {
    await sent(
      { identityId: 'a', email: 'ana@acme.example', isContractor: false },
      { identityId: 'b', email: 'bo@acme.example', isContractor: false },
      { identityId: 'c', email: 'cy@acme.example', isContractor: false },
      { identityId: 'd', email: 'di@acme.example', isContractor: false },
    )
    const ids = new Map((await acme.persons()).map(({ id, user }) => [user?.email.slice(0, 2), id]))
    await acme.delete('c')
    await acme.setByHand('di@acme.example', 'OUT_OF_SCOPE')

    await sent(
      { identityId: 'a', separatedAt: '2026-02-28T00:00:00Z' },
      { identityId: 'b', startedAt: '2025-01-01T00:00:00Z' },
      { identityId: 'd', separatedAt: '2026-02-28T00:00:00Z' },
    )

    const events = await eventsOf(acme.client, 'EMPLOYMENT_STATUS_UPDATED')
    expect(events.map(({ description, metadata }) => [metadata?.targetEntity, description])).toEqual([
      [
        { kind: 'personnel', id: ids.get('an') },
        `The employment status of person ${ids.get('an')} changed from CURRENT_EMPLOYEE to FORMER_EMPLOYEE`,
      ],
      [
        { kind: 'personnel', id: ids.get('cy') },
        `The employment status of person ${ids.get('cy')} changed from CURRENT_EMPLOYEE to UNKNOWN`,
      ],
    ])
    expect(events[0]).toMatchObject({ category: 'PERSONNEL', source: 'APP', userId: null })
  })

  test('a sync that changes nothing records only that it ran', async () => {
    await sent({ identityId: 'a', email: 'ana@acme.example', isContractor: false })
    await acme.sync()

    const events = await eventsOf(acme.client)

    const ofSync = events.filter(({ category }) => category === 'PERSONNEL')
    expect(ofSync.map(({ description }) => description)).toEqual([
      'Identity sync read 1 HR record: 1 person was created and 0 changed',
      'Identity sync read 1 HR record: 0 people were created and 0 changed',
    ])
  })

  test('a scheduled sync says so', async () => {
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false }])
    const { db } = opened.platform.database

    await syncIdentities(db, { accountId: acme.id, trigger: 'schedule', now: opened.clock.now })

    expect(await eventsOf(acme.client, 'USER_IDENTITY_PERSONNEL_SYNCED')).toMatchObject([
      { source: 'SCHEDULED', userId: null, requestDescription: 'identity sync' },
    ])
  })

  test('a reset records whose status the identity sync controls again, and which key requested it', async () => {
    await sent(
      { identityId: 'a', email: 'ana@acme.example', isContractor: false },
      { identityId: 'b', email: 'bo@acme.example', isContractor: false },
      { identityId: 'c', email: 'cy@acme.example', isContractor: false },
    )
    const reset = (body: Parameters<PlatformClient['resetPersonnelSync']>[0]['body']) =>
      acme.client.resetPersonnelSync({ body })
    const byHand = async () => [
      await acme.setByHand('ana@acme.example', 'OUT_OF_SCOPE'),
      await acme.setByHand('bo@acme.example', 'OUT_OF_SCOPE'),
    ]
    const [ana = 0, bo = 0] = await byHand()

    await reset({ action: 'reset-sync', personnelIds: [ana, ana] })
    await byHand()
    await reset({ action: 'reset-sync', personnelIds: [bo, ana, 999_999] })
    await byHand()
    await reset({ action: 'reset-sync-all' })
    await reset({ action: 'reset-sync-all' })
    await reset({ action: 'reset-sync', personnelIds: [ana] })

    const events = (await eventsOf(acme.client)).filter(({ type }) => type.startsWith('FORCE_SYNC'))
    const person = (id: number) => ({ kind: 'personnel', id })
    const both = expect.toSatisfy((targets: readonly { id: number }[]) => {
      return (
        targets
          .map(({ id }) => id)
          .sort((one, other) => one - other)
          .join() === [ana, bo].join()
      )
    })
    expect(events).toMatchObject([
      { type: 'FORCE_SYNC_ON_A_PERSON', metadata: { targetEntity: person(ana) } },
      { type: 'FORCE_SYNC_ON_SOME', metadata: { targetEntity: { kind: 'account' }, targetEntities: both } },
      { type: 'FORCE_SYNC_ON_ALL', metadata: { targetEntity: { kind: 'account' }, targetEntities: both } },
    ])
    expect(events[0]).toMatchObject({
      source: 'PUBLIC_API',
      userId: expect.any(Number),
      requestDescription: 'POST /personnel/actions',
      category: 'PERSONNEL',
    })
  })

  test('the operator leaves a trail: the account, its plan, its terms and its keys', async () => {
    const { operator } = opened
    const name = `Trail ${acme.connectionId}`
    await operator.createAccount({ body: { name, entitlements: ['B', 'A', 'A'], termsAcceptedAt: null } })
    await operator.acceptTerms({ params: { account: name } })
    await operator.acceptTerms({ params: { account: name } })
    await operator.grantEntitlements({ params: { account: name }, body: { names: ['A', 'C'] } })
    await operator.revokeEntitlements({ params: { account: name }, body: { names: ['B', 'D'] } })
    const { id, key } = await operator.createKey({ body: { account: name, name: 'first', permissions: 'all-read' } })
    const other = await operator.createKey({ body: { account: name, name: 'second', permissions: 'all-read' } })
    await operator.revokeKey({ params: { keyId: other.id } })
    await operator.revokeKey({ params: { keyId: other.id } })

    const events = await eventsOf(opened.clientWith(key))

    expect(
      events.map(({ type, requestDescription, metadata }) => [type, requestDescription, metadata?.targetEntity?.id]),
    ).toEqual([
      ['COMPANY_DATA_UPDATED', 'operator: accounts create', expect.any(Number)],
      ['ENTITLEMENT_ENABLED', 'operator: accounts create', 'A'],
      ['ENTITLEMENT_ENABLED', 'operator: accounts create', 'B'],
      ['TERMS_AGREED', 'operator: terms accept', expect.any(Number)],
      ['ENTITLEMENT_ENABLED', 'operator: entitlements grant', 'C'],
      ['ENTITLEMENT_DISABLED', 'operator: entitlements revoke', 'B'],
      ['PUBLIC_API_KEY_CREATED', 'operator: keys create', id],
      ['PUBLIC_API_KEY_CREATED', 'operator: keys create', other.id],
      ['PUBLIC_API_KEY_REVOKED', 'operator: keys revoke', other.id],
    ])
    expect(events.every(({ source, userId }) => source === 'APP' && userId === null)).toBe(true)
  })

  test('a seed records what it added, and nothing if there is nothing to add', async () => {
    const name = `Seeded ${acme.connectionId}`
    const document = SeedDocument.parse({
      accounts: [
        {
          name,
          entitlements: ['A'],
          termsAcceptedAt: '2026-01-01T00:00:00Z',
          company: { domain: 'seeded.example' },
          workspaces: [{ name: 'Cloud', primary: true }],
          people: [{ email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg', title: 'Pilot' }],
        },
      ],
    })
    await opened.operator.seed({ body: document })
    await opened.operator.seed({ body: document })
    const client = await opened.clientOf(name, 'all')

    const events = (await eventsOf(client)).filter(({ requestDescription }) => requestDescription === 'operator: seed')

    expect(events.map(({ type, description }) => [type, description])).toEqual([
      ['COMPANY_DATA_UPDATED', 'The account was opened'],
      ['TERMS_AGREED', 'The terms and conditions were accepted for the account'],
      ['ENTITLEMENT_ENABLED', 'A was added to the plan'],
      ['COMPANY_DATA_UPDATED', 'A seed added to the account: company 1, workspaces 1, people 1'],
    ])
    const nora = await client.getUser({ params: { userId: 'email:nora@acme.example' }, query: {} })
    expect(bodyOf(nora, 200).jobTitle).toBe('Pilot')
  })
})
