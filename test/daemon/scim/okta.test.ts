import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  errorSchema,
  groupSchema,
  listSchema,
  oktaUser,
  openScim,
  patchOf,
  userSchema,
} from '../../helpers/sources/scim-server.ts'

let scim: Awaited<ReturnType<typeof openScim>>
beforeAll(async () => {
  scim = await openScim()
})
afterAll(() => scim[Symbol.asyncDispose]())

const login = () => `okta-${randomUUID()}@acme.example`
const byName = (name: string) => `/Users?filter=${encodeURIComponent(`userName eq "${name}"`)}&startIndex=1&count=100`

/** The steps of "Okta SCIM 2.0 SPEC Test", as its descriptions and assertions have them. */
describe('the SPEC test of Okta', () => {
  test('Test Users endpoint, and Get Users/{id}', async () => {
    const name = login()
    await scim.call({ method: 'POST', path: '/Users', body: oktaUser(name) })

    const { status, body } = await scim.call({ path: '/Users?count=1&startIndex=1' })
    const [first] = body.Resources
    const one = await scim.call({ path: `/Users/${first.id}` })

    expect(status).toBe(200)
    expect(body).toMatchObject({
      schemas: [listSchema],
      itemsPerPage: 1,
      startIndex: 1,
      totalResults: expect.any(Number),
    })
    for (const user of [first, one.body]) {
      expect(user).toMatchObject({
        id: first.id,
        userName: expect.stringMatching(/./),
        active: true,
        name: { familyName: expect.stringMatching(/./), givenName: expect.stringMatching(/./) },
        emails: [{ value: expect.stringMatching(/./) }],
      })
    }
  })

  test("Test invalid User by username, and Make sure random user doesn't exist", async () => {
    const { status, body } = await scim.call({ path: byName(login()) })

    expect(status).toBe(200)
    expect(body).toMatchObject({ schemas: [listSchema], totalResults: 0, Resources: [] })
  })

  test.each(['00919288221112222', randomUUID()])('Test invalid User by ID, and Check status 404: %s', async (id) => {
    const { status, body } = await scim.call({ path: `/Users/${id}` })

    expect(status).toBe(404)
    expect(body).toMatchObject({ schemas: [errorSchema], status: '404', detail: expect.stringMatching(/./) })
  })

  test('Create Okta user with realistic values, Verify that user was created, Expect failure when recreating user, Username Case Sensitivity Check', async () => {
    const userName = login()
    const user = {
      schemas: [userSchema],
      userName,
      name: { givenName: 'Ana', familyName: 'Okoro' },
      emails: [{ primary: true, value: userName, type: 'work' }],
      displayName: 'Ana Okoro',
      active: true,
    }
    const headers = { 'content-type': 'application/json', accept: 'application/scim+json; charset=utf-8' }

    const created = await scim.call({ method: 'POST', path: '/Users', body: user, headers })
    const read = await scim.call({ path: `/Users/${created.body.id}` })
    const again = await scim.call({ method: 'POST', path: '/Users', body: user, headers })
    const inCapitals = await scim.call({ path: byName(userName.toUpperCase()) })

    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ ...user, id: expect.any(String) })
    expect(created.headers.get('location')).toBe(created.body.meta.location)
    expect(read).toMatchObject({ status: 200, body: user })
    expect(again).toMatchObject({
      status: 409,
      body: { schemas: [errorSchema], status: '409', scimType: 'uniqueness' },
    })
    expect(inCapitals).toMatchObject({ status: 200, body: { totalResults: 1 } })
  })

  test('Verify Groups endpoint', async () => {
    const { status, body } = await scim.call({ path: '/Groups' })

    expect(status).toBe(200)
    expect(body).toMatchObject({ schemas: [listSchema], Resources: expect.any(Array) })
  })

  test('Check status 401', async () => {
    const { status, body, headers } = await scim.call({ path: byName('A'), headers: { authorization: 'non-token' } })

    expect(status).toBe(401)
    expect(body).toMatchObject({ schemas: [errorSchema], status: '401', detail: expect.stringMatching(/./) })
    expect(headers.get('www-authenticate')).toBe('Bearer')
  })

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
