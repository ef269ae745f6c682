import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { groupSchema, oktaUser, openScim, patchOf } from '../../helpers/sources/scim-server.ts'

let scim: Awaited<ReturnType<typeof openScim>>
beforeAll(async () => {
  scim = await openScim()
})
afterAll(() => scim[Symbol.asyncDispose]())

const login = () => `okta-${randomUUID()}@acme.example`

/** What Okta sends besides the requests of its own tests, which are a table elsewhere. */
describe('a sender like Okta', () => {
  test.each([
    ['PUT', (user: object) => ({ ...user, active: false })],
    ['PATCH', () => patchOf({ op: 'replace', value: { active: false } })],
  ] as const)('a user is disabled by %s, and enabled again', async (method, bodyOf) => {
    const user = oktaUser(login())
    const { body: created } = await scim.call({ method: 'POST', path: '/Users', body: user })
    const path = `/Users/${created.id}`

    const disabled = await scim.call({ method, path, body: bodyOf({ ...user, id: created.id, meta: created.meta }) })
    const read = await scim.call({ path })
    const enabled = await scim.call({ method: 'PUT', path, body: user })

    expect(disabled).toMatchObject({ status: 200, body: { id: created.id, active: false } })
    expect(read).toMatchObject({ status: 200, body: { active: false } })
    expect(enabled).toMatchObject({ status: 200, body: { active: true } })
  })

  test('a profile is replaced', async () => {
    const name = login()
    const { body: created } = await scim.call({
      method: 'POST',
      path: '/Users',
      body: oktaUser(name, { title: 'Engineer' }),
    })

    const replaced = await scim.call({
      method: 'PUT',
      path: `/Users/${created.id}`,
      body: oktaUser(name, { nickName: 'Annie' }),
    })

    expect(replaced.body).toMatchObject({ nickName: 'Annie', meta: { version: 'W/"2"' } })
    expect(replaced.body).not.toHaveProperty('title')
    expect(JSON.stringify(replaced.body)).not.toContain('never-stored')
  })

  test('a group is pushed: created, matches, renamed, with members, and deleted', async () => {
    const people = await Promise.all(
      [1, 2, 3].map(async () => (await scim.call({ method: 'POST', path: '/Users', body: oktaUser(login()) })).body.id),
    )
    const [first, second, third] = people
    const displayName = `Staff ${randomUUID()}`
    const body = { schemas: [groupSchema], displayName, members: [{ value: first, display: 'Ana' }] }

    const created = await scim.call({ method: 'POST', path: '/Groups', body })
    const path = `/Groups/${created.body.id}`
    const matches = await scim.call({ path: `/Groups?filter=${encodeURIComponent(`displayName eq "${displayName}"`)}` })
    await scim.call({
      method: 'PATCH',
      path,
      body: patchOf({ op: 'add', path: 'members', value: [{ value: second }, { value: third }] }),
    })
    await scim.call({ method: 'PATCH', path, body: patchOf({ op: 'remove', path: `members[value eq "${first}"]` }) })
    const renamed = await scim.call({
      method: 'PATCH',
      path,
      body: patchOf({ op: 'replace', value: { id: created.body.id, displayName: 'All' } }),
    })
    const replaced = await scim.call({
      method: 'PATCH',
      path,
      body: patchOf({ op: 'replace', path: 'members', value: [{ value: first }] }),
    })
    const put = await scim.call({
      method: 'PUT',
      path,
      body: { schemas: [groupSchema], displayName: 'All', members: [] },
    })
    const deleted = await scim.call({ method: 'DELETE', path })

    expect(created).toMatchObject({ status: 201, body: { displayName, members: [{ value: first, display: 'Ana' }] } })
    expect(matches.body).toMatchObject({ totalResults: 1, Resources: [{ id: created.body.id }] })
    expect(renamed.body).toMatchObject({ displayName: 'All', members: [{ value: second }, { value: third }] })
    expect(replaced.body.members).toMatchObject([{ value: first }])
    expect(put.body).toMatchObject({ members: [] })
    expect([deleted.status, (await scim.call({ path })).status]).toEqual([204, 404])
  })
})
