import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const policies = [
  { name: 'For two groups', assignedTo: 'GROUP', groups: ['eng', 'pay'] },
  { name: 'For employees in pay', assignedTo: 'GROUP', groups: ['pay'], employmentStatuses: ['CURRENT_EMPLOYEE'] },
] as const

describe.each(databases)('policies of groups on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function open() {
    const company = await newDemandingCompany(opened, { policies, groups: ['eng', 'pay'] })
    const { ana, bo, client, checksOf, name } = company
    const provider = { name: 'Okta', clientType: 'OKTA_IDENTITY' }
    const assigned = async (userId: number) => {
      const query = { 'expand[]': ['policy' as const] }
      const { data } = bodyOf(await client.listAssignedPolicies({ params: { userId }, query }), 200)
      return data.map(({ policy }) => policy?.name).sort()
    }
    return {
      ...company,
      set: (externalId: string, ...members: string[]) =>
        opened.operator.setGroup({
          body: { account: name, provider, group: { externalId, name: externalId, members } },
        }),
      remove: (externalId: string) =>
        opened.operator.removeGroup({ body: { account: name, provider: 'Okta', externalId } }),
      /** The assigned policies of both people, and the result of their check. */
      both: async () =>
        Promise.all(
          [ana, bo].map(async ({ id, userId }) => [await assigned(userId), (await checksOf(id)).ACCEPTED_POLICIES]),
        ),
    }
  }

  test('are for whom the groups have at the moment', async () => {
    const { both, set, remove } = await open()
    const nobody = await both()
    await set('eng', 'ana@acme.example')
    const one = await both()
    await set('pay', 'ana@acme.example', 'bo@acme.example')
    const several = await both()
    await set('eng')
    await set('pay', 'bo@acme.example')
    const other = await both()
    await remove('pay')
    const removed = await both()

    const none = [[], undefined]
    const first = [['For two groups'], 'FAIL']
    expect({ nobody, one, several, other, removed }).toEqual({
      nobody: [none, none],
      one: [first, none],
      several: [[['For employees in pay', 'For two groups'], 'FAIL'], first],
      other: [none, first],
      removed: [none, none],
    })
  })

  test('leave people alone whose membership stays', async () => {
    const { ana, person, set } = await open()
    await set('eng', 'ana@acme.example')
    const { updatedAt } = await person('ana@acme.example')
    opened.clock.advance(1000)

    await set('eng', 'ana@acme.example', 'bo@acme.example')

    expect(await person('ana@acme.example')).toMatchObject({ id: ana.id, updatedAt })
    expect((await person('bo@acme.example')).updatedAt).toBe(opened.clock.now().toISOString())
  })

  test('come back with a removed group when a seed adds it again, with its members', async () => {
    const { name, client, remove } = await open()
    await remove('eng')
    const people = [{ email: 'dee@acme.example', firstName: 'Dee', lastName: 'Fox' }]
    const groups = [
      { externalId: 'eng', name: 'eng', members: ['dee@acme.example'] },
      { externalId: 'pay', name: 'pay' },
    ]
    const account = { name, entitlements: [], termsAcceptedAt: null, people }
    const newer = { name: 'Newer', assignedTo: 'GROUP', groups: ['eng'] }
    const more = [...policies, newer].map((policy) => ({ description: 'Ours.', ...policy }))
    const identityProviders = [{ name: 'Okta', clientType: 'OKTA_IDENTITY', groups }]
    const document = { accounts: [{ ...account, identityProviders, policies: more }] }

    await opened.operator.seed({ body: SeedDocument.parse(document) })

    const { data } = bodyOf(
      await client.listAssignedPolicies({
        params: { userId: 'email:dee@acme.example' },
        query: { 'expand[]': ['policy'] },
      }),
      200,
    )
    expect(data.map(({ policy }) => policy?.name)).toEqual(['For two groups', 'Newer'])
  })

  test.each([
    ['an unknown group', { assignedTo: 'GROUP', groups: ['eng', 'other'] }, /there is no group "other"/],
    ['a group twice', { assignedTo: 'GROUP', groups: ['eng', 'eng'] }, /the group "eng" is there twice/],
    ['no group', { assignedTo: 'GROUP' }, /a policy for GROUP needs groups/],
    ['a group of a policy for all', { assignedTo: 'ALL', groups: ['eng'] }, /only a policy for GROUP has groups/],
  ])('refuse %s in a seed', (_what, fields, message) => {
    const groups = [{ externalId: 'eng', name: 'Engineering' }]
    const result = SeedDocument.safeParse({
      accounts: [
        {
          ...{ name: 'Acme', entitlements: [], termsAcceptedAt: null },
          identityProviders: [{ name: 'Okta', clientType: 'OKTA_IDENTITY', groups }],
          policies: [{ name: 'Ours', description: 'Ours.', ...fields }],
        },
      ],
    })

    expect(result.error?.issues.map((issue) => issue.message).join()).toMatch(message)
  })
})
