import { describe, expect, test } from 'vitest'
import { KeyInput } from '../../../src/platform/accounts/contract.ts'
import { knownPermissions } from '../../../src/platform/accounts/permissions.ts'
import { createPostgresDatabase, databases } from '../../helpers/servers/databases.ts'
import { openTestPlatform } from '../helpers/platforms.ts'

const dayMs = 86_400_000

describe.each(databases)('keys on $name', ({ createDatabase }) => {
  test('for certain addresses answer 401 to everybody else, as if they did not exist', async () => {
    await using opened = await openTestPlatform(createDatabase, { trustedProxies: ['127.0.0.1'] })
    const { name } = await opened.newAccount()
    const { id, key } = await opened.operator.createKey({
      body: {
        account: name,
        name: 'office',
        permissions: 'all',
        allowedAddresses: ['192.0.2.7', '198.51.100.0/24', '2001:db8::/32', '192.0.2.7'],
      },
    })
    const statusFrom = async (address: string) => {
      const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': address }
      return (await fetch(`${opened.platform.baseUrl}/workspaces`, { headers })).status
    }

    const inside = ['192.0.2.7', '198.51.100.255', '2001:db8:1::1', '::ffff:192.0.2.7', '203.0.113.1, 192.0.2.7']
    const outside = ['192.0.2.8', '198.51.101.0', '2001:db9::1', '::ffff:192.0.2.8', 'garbage', '192.0.2.7, 192.0.2.8']

    expect(await Promise.all(inside.map(statusFrom))).toEqual(inside.map(() => 200))
    expect(await Promise.all(outside.map(statusFrom))).toEqual(outside.map(() => 401))
    expect((await opened.operator.listKeys({})).data).toContainEqual(
      expect.objectContaining({ id, allowedAddresses: ['192.0.2.7', '198.51.100.0/24', '2001:db8::/32'] }),
    )
  })

  test('show that they expire soon, and work until then', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { name } = await opened.newAccount()
    const expiresAt = new Date(opened.clock.now().getTime() + 31 * dayMs).toISOString()
    const { id, key } = await opened.operator.createKey({
      body: { account: name, name: 'brief', permissions: 'all', expiresAt },
    })
    const look = async () => {
      const state = (await opened.operator.listKeys({})).data.find((listed) => listed.id === id)?.state
      return [state, (await opened.clientWith(key).listWorkspaces({ query: {} })).status]
    }

    const observed = [await look()]
    opened.clock.advance(dayMs)
    observed.push(await look())
    opened.clock.advance(30 * dayMs)
    observed.push(await look())
    await opened.operator.revokeKey({ params: { keyId: id } })
    observed.push(await look())

    expect(observed).toEqual([
      ['active', 200],
      ['expires-soon', 200],
      ['expired', 401],
      ['revoked', 401],
    ])
  })
})

test('an address that a caller claims counts for nothing unless it comes from a trusted proxy', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { name } = await opened.newAccount()
  const allowedAddresses = ['192.0.2.7']
  const newKey = { account: name, name: 'office', permissions: 'all', allowedAddresses } as const
  const { key } = await opened.operator.createKey({ body: { ...newKey, allowedAddresses } })
  const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': '192.0.2.7' }

  const answer = await fetch(`${opened.platform.baseUrl}/workspaces`, { headers })

  expect(answer.status).toBe(401)
})

test('a key that would never work is not made', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { name } = await opened.newAccount()
  const expiresAt = opened.clock.now().toISOString()

  const making = opened.operator.createKey({ body: { account: name, name: 'late', permissions: 'all', expiresAt } })

  await expect(making).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('never work') })
})

describe('the input of a new key', () => {
  const refused = (input: object) => {
    const parsed = KeyInput.safeParse({ account: 'A', name: 'k', permissions: 'all', ...input })
    return parsed.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
  }

  test('every permission of an operation is known, and only those', () => {
    const names = [...knownPermissions.keys()]

    expect(names).toContain('personnel-get')
    expect(knownPermissions.get('user-identity-hris-post')).toEqual([
      'POST /custom-connections/:connectionId/hris-user-identities',
    ])
    expect(refused({ permissions: names })).toEqual([])
  })

  test.each([
    ['personel-get', 'did you mean personnel-get?'],
    ['user-identities-hris-gets', 'did you mean user-identities-hris-get?'],
    ['everything', '`platform keys permissions` lists all'],
    ['__proto__', '`platform keys permissions` lists all'],
  ])('the permission %s is refused with a hint', (name, hint) => {
    expect(refused({ permissions: ['personnel-get', name] })).toEqual([
      `permissions.1: no operation asks for a permission "${name}"; ${hint}`,
    ])
  })

  test.each(['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', '::ffff:192.0.2.1'])(
    '%s is an address',
    (address) => {
      expect(refused({ allowedAddresses: [address] })).toEqual([])
    },
  )

  test.each([
    '',
    'localhost',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.0/33',
    '10.0.0.0/',
    '010.0.0.1',
    '::/129',
    'fe80::1%eth0',
  ])('"%s" is no address', (address) => {
    expect(refused({ allowedAddresses: [address] })).toEqual([expect.stringContaining(`"${address}" is no`)])
  })

  test.each([
    ['no name', { name: '' }],
    ['a name that no database stores', { name: 'a\0b' }],
    ['a moment that no database stores', { expiresAt: '0000-01-01T00:00:00Z' }],
    ['no permissions', { permissions: [] }],
    ['more addresses than a list can have', { allowedAddresses: Array(101).fill('10.0.0.1') }],
  ])('%s is refused', (_what, input) => {
    expect(refused(input)).not.toEqual([])
  })
})
