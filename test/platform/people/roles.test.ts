import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RoleName } from '../../../src/contract/platform/roles.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

describe.each(databases)('roles on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('all roles of the contract are listed, and permit nothing', async () => {
    const { client } = await opened.newAccount()

    const { data } = bodyOf(await client.listRoles({ query: { size: 500, 'expand[]': ['permissions'] } }), 200)

    expect(data.map(({ role }) => role)).toEqual(RoleName.options)
    expect(new Set(data.map(({ permissions }) => permissions?.length))).toEqual(new Set([0]))
  })

  test('a role is read by number and by name', async () => {
    const { client } = await opened.newAccount()

    const byName = bodyOf(await client.getRole({ params: { roleId: 'role:PEOPLE_OPS' }, query: {} }), 200)
    const byNumber = bodyOf(await client.getRole({ params: { roleId: byName.id }, query: {} }), 200)
    const unknown = await client.getRole({ params: { roleId: 'role:people_ops' }, query: {} })

    expect(byName.role).toBe('PEOPLE_OPS')
    expect(byNumber).toEqual(byName)
    expect(unknown.status).toBe(404)
  })

  test('the users with a role are those of the account, by name as in the list of users', async () => {
    const [acme, other] = [await newCompany(opened), await newCompany(opened)]
    const people = [
      { email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg', roles: ['ADMIN', 'EMPLOYEE'] },
      { email: 'ivo@acme.example', firstName: 'Ivo', lastName: 'Berg', roles: ['ADMIN'] },
      { email: 'tom@acme.example', firstName: 'Tom', lastName: 'Rey' },
    ]
    for (const { name } of [acme, other]) {
      const account = { name, entitlements: [], termsAcceptedAt: null, people }
      await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
    }
    const having = async (role: 'ADMIN' | 'EMPLOYEE' | 'SERVICE_USER' | 'AUDITOR', firstName?: string) => {
      const query = { 'expand[]': ['roles' as const], ...(firstName !== undefined && { firstName }) }
      const answer = await acme.client.listUsersWithRole({ params: { roleId: `role:${role}` }, query })
      return bodyOf(answer, 200).data.map((user) => [user.email.split('@')[0], user.roles])
    }

    expect(await having('ADMIN')).toEqual([
      ['nora', ['EMPLOYEE', 'ADMIN']],
      ['ivo', ['EMPLOYEE', 'ADMIN']],
    ])
    expect(await having('ADMIN', 'iv')).toEqual([['ivo', ['EMPLOYEE', 'ADMIN']]])
    expect((await having('EMPLOYEE')).length).toBe(3)
    expect((await having('SERVICE_USER')).map(([, roles]) => roles)).toEqual([['SERVICE_USER']])
    expect(await having('AUDITOR')).toEqual([])
  })
})
