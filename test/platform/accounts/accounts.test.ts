import { describe, expect, test } from 'vitest'
import { createPostgresDatabase, databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { entitlement, openTestPlatform } from '../helpers/platforms.ts'

const everybody = { query: {} }
const minuteMs = 60_000

describe.each(databases)('accounts on $name', ({ createDatabase }) => {
  test('are listed with their terms, entitlements and how much they hold', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { name, send, delete: remove, sync } = await newCompany(opened)
    await send([{ identityId: 'a', email: 'a@one.example' }, { identityId: 'b' }, { identityId: 'c' }])
    await remove('c')
    await sync()
    const expiresAt = new Date(opened.clock.now().getTime() + minuteMs).toISOString()
    await opened.operator.createKey({ body: { account: name, name: 'brief', permissions: 'all', expiresAt } })
    const { id: ended } = await opened.operator.createKey({
      body: { account: name, name: 'ended', permissions: 'all' },
    })
    await opened.operator.revokeKey({ params: { keyId: ended } })
    opened.clock.advance(minuteMs)
    const createdAt = '2026-03-02T10:00:00.000Z'
    await opened.operator.createAccount({
      body: { name: 'Other', entitlements: ['b', 'B', 'a', 'a'], termsAcceptedAt: null },
    })

    const listed = (await opened.operator.listAccounts({})).data

    expect(listed).toEqual([
      {
        id: expect.any(Number),
        name,
        createdAt,
        termsAcceptedAt: '2026-01-01T00:00:00.000Z',
        entitlements: [entitlement],
        counts: { workspaces: 0, personnel: 2, connections: 1, identities: 2, keys: 1 },
      },
      {
        id: expect.any(Number),
        name: 'Other',
        createdAt: opened.clock.now().toISOString(),
        termsAcceptedAt: null,
        entitlements: ['B', 'a', 'b'],
        counts: { workspaces: 0, personnel: 0, connections: 0, identities: 0, keys: 0 },
      },
    ])
    expect(await opened.operator.showAccount({ params: { account: 'Other' } })).toEqual(listed[1])
  })

  test('accepting the terms opens the API, and the first time is stored', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { name, client } = await opened.newAccount({ termsAcceptedAt: null })
    const before = await client.listWorkspaces(everybody)
    const first = opened.clock.now().toISOString()

    await opened.operator.acceptTerms({ params: { account: name } })
    opened.clock.advance(minuteMs)
    const again = await opened.operator.acceptTerms({ params: { account: name } })

    expect(again.termsAcceptedAt).toBe(first)
    expect([before.status, (await client.listWorkspaces(everybody)).status]).toEqual([412, 200])
  })

  test('entitlements open and close their areas, and repeating it changes nothing', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { name, client } = await opened.newAccount({ entitlements: [] })
    const other = await opened.newAccount({ entitlements: ['KEPT'] })
    const statuses = [(await client.listCustomConnections(everybody)).status]

    await opened.operator.grantEntitlements({
      params: { account: name },
      body: { names: [entitlement, 'KEPT', 'KEPT'] },
    })
    const granted = await opened.operator.grantEntitlements({
      params: { account: name },
      body: { names: [entitlement] },
    })
    statuses.push((await client.listCustomConnections(everybody)).status)
    await opened.operator.revokeEntitlements({ params: { account: name }, body: { names: [entitlement] } })
    const revoked = await opened.operator.revokeEntitlements({
      params: { account: name },
      body: { names: [entitlement, 'NEVER_HELD'] },
    })
    statuses.push((await client.listCustomConnections(everybody)).status)

    expect(statuses).toEqual([402, 200, 402])
    expect([granted.entitlements, revoked.entitlements]).toEqual([[entitlement, 'KEPT'], ['KEPT']])
    expect((await opened.operator.showAccount({ params: { account: other.name } })).entitlements).toEqual(['KEPT'])
  })
})

test('an account that is not there is not found, whatever is asked of it', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { operator } = opened

  const attempts = await Promise.allSettled([
    operator.showAccount({ params: { account: 'Nobody' } }),
    operator.acceptTerms({ params: { account: 'Nobody' } }),
    operator.grantEntitlements({ params: { account: 'Nobody' }, body: { names: ['A'] } }),
    operator.revokeEntitlements({ params: { account: 'Nobody' }, body: { names: ['A'] } }),
  ])

  expect(attempts).toMatchObject(attempts.map(() => ({ reason: { code: 'not_found' } })))
})
