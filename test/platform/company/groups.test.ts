import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

describe.each(databases)('groups and scopes on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function openAcme() {
    const acme = await newCompany(opened)
    const addresses = ['ana', 'bo', 'cy'].map((name) => `${name}@acme.example`)
    await acme.send(addresses.map((email) => ({ identityId: email, email, isContractor: false })))
    await acme.sync()
    const set = async (externalId: string, members: string[] = [], name = externalId) =>
      opened.operator.setGroup({
        body: {
          account: acme.name,
          provider: { name: 'Okta', clientType: 'OKTA_IDENTITY' },
          group: { externalId, name, members: members.map((member) => `${member}@acme.example`) },
        },
      })
    const account = { name: acme.name, entitlements: [], termsAcceptedAt: null, workspaces: [{ name: 'Cloud' }] }
    await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
    const expanded = { 'expand[]': ['personnelScope' as const] }
    const workspace = async () => bodyOf(await acme.client.listWorkspaces({ query: expanded }), 200).data[0]
    const params = { workspaceId: (await workspace())?.id ?? 0 }
    const scope = async () => bodyOf(await acme.client.listScopedGroups({ params, query: {} }), 200).data
    const counts = async () => bodyOf(await acme.client.getScopedCounts({ params }), 200)
    const events = async (type: string) =>
      bodyOf(await acme.client.listEvents({ query: { type, 'expand[]': ['metadata'] } }), 200).data
    return { ...acme, set, params, scope, counts, workspace, events }
  }

  test('an operator makes groups, replaces their members, and removes them', async () => {
    const acme = await openAcme()
    const { id } = await acme.set('eng', ['ana', 'bo'])

    const renamed = await acme.set('eng', ['bo', 'cy'], 'Engineering')
    await acme.set('eng', ['cy', 'bo', 'bo'], 'Engineering')
    const matches = bodyOf(await acme.client.listGroups({ query: { q: 'GINE' } }), 200).data
    const missed = bodyOf(await acme.client.listGroups({ query: { q: '%' } }), 200).data
    await opened.operator.removeGroup({ body: { account: acme.name, provider: 'Okta', externalId: 'eng' } })

    expect(renamed).toEqual({ id, name: 'Engineering', members: 2 })
    expect(matches).toMatchObject([{ id, name: 'Engineering', externalId: 'eng', source: 'OKTA_IDENTITY' }])
    expect(missed).toEqual([])
    expect(bodyOf(await acme.client.listGroups({ query: {} }), 200).data).toEqual([])
    const types = ['GROUPS_IDENTITY_CREATED', 'GROUPS_IDENTITY_UPDATED', 'GROUPS_IDENTITY_DELETED']
    expect((await Promise.all(types.map(acme.events))).map((list) => list.length)).toEqual([1, 1, 1])
  })

  test.each([
    [
      'a stranger as a member',
      { members: ['nobody'], clientType: 'OKTA_IDENTITY' },
      /nobody@acme.example is not one of the personnel/,
    ],
    ['a provider of another kind', { members: [], clientType: 'GOOGLE' }, /"Okta" is OKTA_IDENTITY, not GOOGLE/],
  ])('refuses %s and changes nothing', async (_what, { members, clientType }, message) => {
    const acme = await openAcme()
    await acme.set('eng', ['ana'])
    const group = { externalId: 'new', name: 'New', members: members.map((member) => `${member}@acme.example`) }

    const attempt = opened.operator.setGroup({
      body: { account: acme.name, provider: { name: 'Okta', clientType }, group },
    })

    await expect(attempt).rejects.toThrow(message)
    expect(bodyOf(await acme.client.listGroups({ query: {} }), 200).data).toHaveLength(1)
  })

  test('a scope grows, is replaced, shrinks, and each change leaves an event', async () => {
    const acme = await openAcme()
    const [eng, pay] = [await acme.set('eng', ['ana', 'bo']), await acme.set('pay', ['bo'])]
    const { client, params } = acme

    const added = await client.addScopedGroup({ params, body: { groupId: eng.id } })
    const again = await client.addScopedGroup({ params, body: { groupId: eng.id } })
    const unknown = await client.addScopedGroup({ params, body: { groupId: 987_654 } })
    const replaced = await client.replaceScopedGroups({ params, body: { groupIds: [eng.id, pay.id, pay.id] } })
    const same = await client.replaceScopedGroups({ params, body: { groupIds: [pay.id, eng.id] } })
    const half = await client.replaceScopedGroups({ params, body: { groupIds: [pay.id, 987_654] } })
    const removed = await client.removeScopedGroup({ params: { ...params, groupId: eng.id } })
    const gone = await client.removeScopedGroup({ params: { ...params, groupId: eng.id } })

    const answers = [added, again, unknown, replaced, same, half, removed, gone]
    expect(answers.map(({ status }) => status)).toEqual([201, 409, 400, 204, 204, 400, 204, 404])
    expect(bodyOf(added, 201)).toEqual({ id: eng.id, name: 'eng', connectionProvider: 'OKTA_IDENTITY' })
    expect(await acme.scope()).toMatchObject([{ id: pay.id }])
    expect(await acme.events('WORKSPACE_SCOPE_UPDATED')).toHaveLength(3)
  })

  test('counts active people once, and null without a scope', async () => {
    const acme = await openAcme()
    const [eng, pay] = [await acme.set('eng', ['ana', 'bo']), await acme.set('pay', ['bo', 'cy'])]
    const none = [await acme.counts(), (await acme.workspace())?.scopedPersonnelCount]
    await acme.client.replaceScopedGroups({ params: acme.params, body: { groupIds: [eng.id, pay.id] } })
    const both = [await acme.counts(), (await acme.workspace())?.scopedPersonnelCount]
    await acme.send([{ identityId: 'bo@acme.example', separatedAt: '2025-06-30T00:00:00.000Z' }])
    await acme.sync()
    const afterwards = await acme.counts()
    await acme.client.replaceScopedGroups({ params: acme.params, body: { groupIds: [] } })

    expect(none).toEqual([{ scopedPersonnelCount: 0, totalPersonnelCount: 3 }, null])
    expect(both).toEqual([{ scopedPersonnelCount: 3, totalPersonnelCount: 3 }, 3])
    expect(afterwards).toEqual({ scopedPersonnelCount: 2, totalPersonnelCount: 2 })
    expect((await acme.workspace())?.scopedPersonnelCount).toBeNull()
  })

  test('two replacements at the same time leave one of the two scopes', async () => {
    const acme = await openAcme()
    const [eng, pay] = [await acme.set('eng'), await acme.set('pay')]
    const replace = (groupId: number) =>
      acme.client.replaceScopedGroups({ params: acme.params, body: { groupIds: [groupId] } })

    for (let round = 0; round < 10; round++) {
      await Promise.all([replace(eng.id), replace(pay.id)])

      expect(await acme.scope()).toHaveLength(1)
    }
  })

  test('a seed adds missing groups and scopes, changes none, and must name its own people and groups', async () => {
    const acme = await openAcme()
    const people = [{ email: 'dee@acme.example', firstName: 'Dee', lastName: 'Fox' }]
    const group = (name: string, members: string[]) => ({ externalId: 'eng', name, members })
    const seedOf = (name: string, members: string[], scope = ['eng']) => ({
      accounts: [
        {
          ...{
            name: acme.name,
            entitlements: [],
            termsAcceptedAt: null,
            people,
            workspaces: [{ name: 'Cloud', scope }],
          },
          identityProviders: [{ name: 'Okta', clientType: 'OKTA_IDENTITY', groups: [group(name, members)] }],
        },
      ],
    })
    await opened.operator.seed({ body: SeedDocument.parse(seedOf('Engineering', ['dee@acme.example'])) })

    await opened.operator.seed({ body: SeedDocument.parse(seedOf('Another name', [])) })

    expect(await acme.scope()).toMatchObject([{ name: 'Engineering' }])
    expect(SeedDocument.safeParse(seedOf('x', ['nobody@acme.example'])).success).toBe(false)
    expect(SeedDocument.safeParse(seedOf('x', [], ['another'])).success).toBe(false)
  })
})
