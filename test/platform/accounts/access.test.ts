import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { customConnections } from '../../../src/contract/platform/custom-connections.ts'
import { hrisUserIdentities } from '../../../src/contract/platform/hris-user-identities.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { bodyOf, newHrisConnection, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const everybody = { query: {} }
const missing = { params: { connectionId: 999_999 }, query: {} }
const millisecondsPerDay = 86_400_000

describe.each(databases)('access on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('a request without a key that the platform knows is refused with 401', async () => {
    const client = opened.clientWith('rck_nobody')

    const answer = await client.listCustomConnections(everybody)

    expect(answer).toMatchObject({ status: 401, error: { message: expect.stringContaining('API key') } })
  })

  test('a request without any credential, or with another scheme, is refused with 401', async () => {
    const url = `${opened.platform.baseUrl}/custom-connections`

    const none = await fetch(url)
    const basic = await fetch(url, { headers: { authorization: 'Basic dTpw' } })

    expect([none.status, basic.status]).toEqual([401, 401])
    expect(await none.json()).toEqual({ statusCode: 401, message: expect.any(String), code: expect.any(Number) })
  })

  test('unaccepted terms are reported before a missing entitlement, and that before a missing permission', async () => {
    const open = await opened.newAccount({ entitlements: [], termsAcceptedAt: null })
    const poor = await opened.newAccount({ entitlements: [] })
    const rich = await opened.newAccount()

    const answers = await Promise.all(
      [open, poor, rich].map(async ({ name }) => {
        const client = await opened.clientOf(name, ['workspaces-get'])
        return client.listCustomConnections(everybody)
      }),
    )

    expect(answers.map(({ status }) => status)).toEqual([412, 402, 403])
  })

  test('an unknown key on an account with open terms is still 401', async () => {
    await opened.newAccount({ termsAcceptedAt: null })

    const answer = await opened.clientWith('rck_unknown').listCustomConnections(everybody)

    expect(answer.status).toBe(401)
  })

  test('a missing permission is reported before an invalid request, and that before a missing record', async () => {
    const { name, client } = await opened.newAccount()
    const powerless = await opened.clientOf(name, ['workspaces-get'])
    const body = { clientAlias: 7 as never }

    const refused = await powerless.updateCustomConnection({ ...missing, body })
    const invalid = await client.updateCustomConnection({ ...missing, body })
    const absent = await client.updateCustomConnection({ ...missing, body: { clientAlias: 'new' } })

    expect([refused.status, invalid.status, absent.status]).toEqual([403, 400, 404])
  })

  test('areas without an entitlement are open to an account without any', async () => {
    const { client } = await opened.newAccount({ entitlements: [] })

    const answers = [await client.listPersonnel(everybody), await client.listWorkspaces(everybody)]

    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })

  test('either of the two permissions for creating and updating a connection suffices', async () => {
    const { name } = await opened.newAccount()
    const creators = await Promise.all(
      customConnections.createCustomConnection.permission.map((permission) => opened.clientOf(name, [permission])),
    )
    const updaters = await Promise.all(
      customConnections.updateCustomConnection.permission.map((permission) => opened.clientOf(name, [permission])),
    )

    const created = await Promise.all(
      creators.map((client) => client.createCustomConnection({ body: { name: 'HR', providerTypes: ['HRIS'] } })),
    )
    const connectionId = bodyOf(created[0] ?? { status: 0 }, 201).id
    const updated = await Promise.all(
      updaters.map((client) => client.updateCustomConnection({ params: { connectionId }, body: { clientAlias: 'a' } })),
    )

    expect(created.map(({ status }) => status)).toEqual([201, 201])
    expect(updated.map(({ status }) => status)).toEqual([200, 200])
  })

  test('each HRIS operation requires its own permission', async () => {
    const { name, client: owner } = await opened.newAccount()
    const connectionId = await newHrisConnection(owner)
    const ofConnection = { params: { connectionId } }
    const ofPerson = { params: { connectionId, userIdentityId: 'identity-id:a' as const } }
    const operations = ['upsert', 'list', 'get', 'update', 'delete'] as const
    const permissions = {
      upsert: hrisUserIdentities.upsertHrisUserIdentities.permission,
      list: hrisUserIdentities.listHrisUserIdentities.permission,
      get: hrisUserIdentities.getHrisUserIdentity.permission,
      update: hrisUserIdentities.updateHrisUserIdentity.permission,
      delete: hrisUserIdentities.deleteHrisUserIdentity.permission,
    }

    const allowed = []
    for (const operation of operations) {
      const client = await opened.clientOf(name, [permissions[operation]])
      const answers = {
        upsert: await client.upsertHrisUserIdentities({ ...ofConnection, body: [{ identityId: 'a' }] }),
        list: await client.listHrisUserIdentities({ ...ofConnection, query: {} }),
        get: await client.getHrisUserIdentity(ofPerson),
        update: await client.updateHrisUserIdentity({ ...ofPerson, body: { firstName: operation } }),
        delete: await client.deleteHrisUserIdentity(ofPerson),
      }
      allowed.push(operations.filter((one) => answers[one].status !== 403))
    }

    expect(allowed).toEqual(operations.map((operation) => [operation]))
    expect(Object.values(permissions)).toEqual([
      'user-identity-hris-post',
      'user-identities-hris-get',
      'user-identity-hris-get',
      'user-identity-hris-put',
      'user-identity-hris-delete',
    ])
  })

  test('a read-only key reads everything and cannot write', async () => {
    const { name } = await opened.newAccount()
    const reader = await opened.clientOf(name, 'all-read')

    const read = await reader.listCustomConnections(everybody)
    const written = await reader.createCustomConnection({ body: { name: 'HR', providerTypes: ['HRIS'] } })

    expect([read.status, written.status]).toEqual([200, 403])
  })

  test('a revoked key is refused from the next request on, and for good', async () => {
    const { name } = await opened.newAccount()
    const { id, key } = await opened.operator.createKey({
      body: { account: name, name: 'soon gone', permissions: 'all' },
    })
    const before = await opened.clientWith(key).listWorkspaces(everybody)

    await opened.operator.revokeKey({ params: { keyId: id } })
    await opened.operator.revokeKey({ params: { keyId: id } })

    expect(before.status).toBe(200)
    expect((await opened.clientWith(key).listWorkspaces(everybody)).status).toBe(401)
  })

  test('a key expires after twelve months unless it has another date or none', async () => {
    await using own = await openTestPlatform(createDatabase)
    const { name } = await own.newAccount()
    const usual = await own.operator.createKey({ body: { account: name, name: 'usual', permissions: 'all' } })
    const endless = await own.operator.createKey({
      body: {
        account: name,
        name: 'endless',
        permissions: 'all',
        expiresAt: null,
      },
    })
    const expiresAt = new Date(own.clock.now().getTime() + millisecondsPerDay).toISOString()
    const brief = await own.operator.createKey({
      body: { account: name, name: 'brief', permissions: 'all', expiresAt },
    })
    const statuses = () =>
      Promise.all(
        [usual, endless, brief].map(async ({ key }) => (await own.clientWith(key).listWorkspaces(everybody)).status),
      )

    const today = await statuses()
    own.clock.advance(millisecondsPerDay)
    const tomorrow = await statuses()
    own.clock.advance(364 * millisecondsPerDay)
    const nextYear = await statuses()

    expect({ today, tomorrow, nextYear }).toEqual({
      today: [200, 200, 200],
      tomorrow: [200, 200, 401],
      nextYear: [401, 200, 401],
    })
  })

  test('keys are stored as hashes and never listed', async () => {
    const { name } = await opened.newAccount()
    const { id, key } = await opened.operator.createKey({ body: { account: name, name: 'secret', permissions: 'all' } })

    const stored = await opened.platform.database.db.selectFrom('api_keys').selectAll().where('id', '=', id).execute()
    const listed = (await opened.operator.listKeys({})).data

    expect(JSON.stringify([stored, listed])).not.toContain(key)
    expect(listed).toContainEqual(expect.objectContaining({ id, account: name, name: 'secret', state: 'active' }))
  })

  test('nothing of another account can be listed, read, changed or deleted', async () => {
    const mine = await opened.newAccount()
    const { client: stranger } = await opened.newAccount()
    const connectionId = await newHrisConnection(mine.client)
    const params = { connectionId }
    const [created] = bodyOf(
      await mine.client.upsertHrisUserIdentities({
        params,
        body: [{ identityId: 'a', email: 'a@one.example', isContractor: false }],
      }),
      201,
    )
    const userIdentityId = created?.data?.id ?? 0
    await opened.operator.syncIdentities({ body: { account: mine.name } })
    const person = bodyOf(await mine.client.listPersonnel(everybody), 200).data[0]
    const body = [{ identityId: 'a', firstName: 'Mallory' }]

    const attempts = await Promise.all([
      stranger.getCustomConnection({ params, query: {} }),
      stranger.updateCustomConnection({ params, body: { clientAlias: 'mine now' } }),
      stranger.listHrisUserIdentities({ params, query: {} }),
      stranger.upsertHrisUserIdentities({ params, body }),
      stranger.getHrisUserIdentity({ params: { connectionId, userIdentityId } }),
      stranger.updateHrisUserIdentity({ params: { connectionId, userIdentityId }, body: { firstName: 'Mallory' } }),
      stranger.deleteHrisUserIdentity({ params: { connectionId, userIdentityId } }),
      stranger.getPersonnel({ params: { personnelId: person?.id ?? 0 }, query: {} }),
      stranger.getPersonnel({ params: { personnelId: 'email:a@one.example' }, query: {} }),
    ])
    const deleted = await stranger.deleteCustomConnection({ params })
    const lists = [await stranger.listCustomConnections(everybody), await stranger.listPersonnel(everybody)]

    expect(attempts.map(({ status }) => status)).toEqual(Array(attempts.length).fill(404))
    expect(deleted.status).toBe(204)
    expect(lists.map((list) => bodyOf(list, 200).data)).toEqual([[], []])
    const kept = await mine.client.getHrisUserIdentity({ params: { connectionId, userIdentityId } })
    expect(bodyOf(kept, 200)).toMatchObject({ identityId: 'a', firstName: null })
  })

  test('an identity of one connection is not reachable through another one of the same account', async () => {
    const { client } = await opened.newAccount()
    const [first, second] = [await newHrisConnection(client), await newHrisConnection(client)]
    const results = bodyOf(
      await client.upsertHrisUserIdentities({ params: { connectionId: first }, body: [{ identityId: 'a' }] }),
      201,
    )
    const userIdentityId = results[0]?.data?.id ?? 0

    const answer = await client.getHrisUserIdentity({ params: { connectionId: second, userIdentityId } })

    expect(answer.status).toBe(404)
  })
})
