import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  errorSchema,
  listSchema,
  oktaUser,
  openScim,
  patchOf,
  type ScimAnswered,
  type ScimCall,
  userSchema,
} from '../../helpers/sources/scim-server.ts'

type Scim = Awaited<ReturnType<typeof openScim>>

const someText = expect.stringMatching(/./)
const byName = (name: string) => `/Users?filter=${encodeURIComponent(`userName eq "${name}"`)}`
const error = (status: number) => ({ schemas: [errorSchema], status: String(status), detail: someText })

/** What the steps of a test hand on, as the variables of Okta's do. */
type Known = { readonly userName: string; first: string; one: string }
/** A request of the test, what of its answer is checked, and what later steps take from it. */
type Step = {
  readonly call: ScimCall
  readonly status: number
  readonly body?: object
  readonly take?: (answer: ScimAnswered) => void
}

describe('the test "Okta SCIM 2.0 SPEC Test"', () => {
  let scim: Scim
  beforeAll(async () => {
    // It creates users without an externalId, so that another attribute has to be their key.
    scim = await openScim({ mapping: { fields: { identityId: 'userName' } } })
    await scim.call({ method: 'POST', path: '/Users', body: oktaUser('first@acme.example') })
  })
  afterAll(() => scim[Symbol.asyncDispose]())

  const known: Known = { userName: `okta-${randomUUID()}@acme.example`, first: '', one: '' }
  const name = { givenName: 'Ana', familyName: 'Okoro' }
  const headers = { 'content-type': 'application/json', accept: 'application/scim+json; charset=utf-8' }
  const created = {
    schemas: [userSchema],
    userName: known.userName,
    name,
    emails: [{ primary: true, value: 'ana@acme.example', type: 'work' }],
    displayName: 'Ana Okoro',
    active: true,
  }
  const anyUser = {
    id: someText,
    userName: someText,
    name: { familyName: someText, givenName: someText },
    active: expect.any(Boolean),
    emails: [{ value: someText }],
  }
  const counts = { itemsPerPage: expect.any(Number), startIndex: expect.any(Number), totalResults: expect.any(Number) }

  /** Its twelve requests in their order, by its notes. */
  const steps: Readonly<Record<string, () => Step>> = {
    'Required Test: Test Users endpoint': () => ({
      call: { path: '/Users?count=1&startIndex=1' },
      status: 200,
      body: { schemas: [listSchema], ...counts, Resources: [anyUser] },
      take: ({ body }) => (known.first = body.Resources[0].id),
    }),
    'Required Test: Get Users/{{id}}': () => ({
      call: { path: `/Users/${known.first}` },
      status: 200,
      body: { ...anyUser, id: known.first },
    }),
    'Required Test: Test invalid User by username': () => ({
      call: { path: byName('nobody@acme.example') },
      status: 200,
      body: { schemas: [listSchema], totalResults: 0 },
    }),
    'Required Test: Test invalid User by ID': () => ({
      call: { path: `/Users/${randomUUID()}` },
      status: 404,
      body: error(404),
    }),
    "Required Test: Make sure random user doesn't exist": () => ({
      call: { path: byName(known.userName) },
      status: 200,
      body: { schemas: [listSchema], totalResults: 0 },
    }),
    'Required Test: Create Okta user with realistic values': () => ({
      call: { method: 'POST', path: '/Users', body: created, headers },
      status: 201,
      body: { schemas: [userSchema], id: someText, userName: known.userName, name, active: true },
      take: ({ body }) => (known.one = body.id),
    }),
    'Required Test: Verify that user was created': () => ({
      call: { path: `/Users/${known.one}` },
      status: 200,
      body: { userName: known.userName, name },
    }),
    'Required Test: Expect failure when recreating user with same values': () => ({
      call: { method: 'POST', path: '/Users', body: created, headers },
      status: 409,
      body: { ...error(409), scimType: 'uniqueness' },
    }),
    'Required Test: Username Case Sensitivity Check': () => ({
      call: { path: byName(known.userName.toUpperCase()) },
      status: 200,
      body: { totalResults: 1, Resources: [{ id: known.one }] },
    }),
    'Optional Test: Verify Groups endpoint': () => ({
      call: { path: '/Groups' },
      status: 200,
      body: { Resources: expect.any(Array) },
    }),
    'Required Test: Check status 401': () => ({
      call: { path: byName(known.userName.toUpperCase()), headers: { authorization: 'non-token' } },
      status: 401,
      body: error(401),
    }),
    'Required Test: Check status 404': () => ({
      call: { path: '/Users/00919288221112222' },
      status: 404,
      body: error(404),
    }),
  }

  test.for(Object.entries(steps))('%s', async ([, stepOf]) => {
    const { call, status, body = {}, take } = stepOf()

    const answer = await scim.call(call)

    expect(answer).toMatchObject({ status, body })
    expect(answer.headers.get('content-type')).toMatch(/^application\/scim\+json/)
    take?.(answer)
  })

  test('has twelve requests, and pauses between them', () => {
    expect(Object.keys(steps)).toHaveLength(12)
  })
})

describe('the test "Okta SCIM 2.0 CRUD Test"', () => {
  let scim: Scim
  const login = `okta-${randomUUID()}@acme.example`
  const user = oktaUser(login, { title: 'Engineer' }) as { name: { familyName: string } }
  let path = ''
  beforeAll(async () => {
    scim = await openScim()
  })
  afterAll(() => scim[Symbol.asyncDispose]())

  const change = (active: boolean): ScimCall => ({
    method: 'PATCH',
    path,
    body: patchOf({ op: 'replace', value: { active } }),
  })
  const readBy = (body: object): Step => ({
    call: { path: byName(login) },
    status: 200,
    body: { schemas: [listSchema], totalResults: 1, Resources: [body] },
  })

  /** Its steps in their order: those in Okta are what Okta sends for them, or say why nothing is sent. */
  const steps: Readonly<Record<string, (() => Step) | { readonly inOkta: string }>> = {
    'Checks that the app exists in your Okta org': { inOkta: 'asks Okta about itself' },
    'Adds a new random user in Okta': { inOkta: 'sends nothing before the app is assigned' },
    'Assigns that user to the app in Okta': () => ({
      call: { method: 'POST', path: '/Users', body: user },
      status: 201,
      body: { userName: login, active: true },
      take: ({ body }) => (path = `/Users/${body.id}`),
    }),
    'Verifies that the user was created on your SCIM server': () => readBy({ userName: login, active: true }),
    'Updates the user firstName attribute in Okta': () => ({
      call: { method: 'PUT', path, body: { ...user, name: { ...user.name, givenName: 'Updated' } } },
      status: 200,
    }),
    'Verifies that the user attribute was updated on your SCIM server': () =>
      readBy({ name: { givenName: 'Updated', familyName: user.name.familyName }, title: 'Engineer' }),
    'Deactivates the user in Okta': () => ({ call: change(false), status: 200 }),
    'Verifies that the user was deactivated on your SCIM server': () => readBy({ active: false }),
    'Reactivates the user in Okta': { inOkta: 'sends nothing before the app is assigned again' },
    'Reassigns your app to the user in Okta': () => ({
      call: { method: 'PUT', path, body: { ...user, active: true } },
      status: 200,
    }),
    'Verifies the user was reactivated and assigned on your SCIM server': () => readBy({ active: true }),
    'Removes your app from the user in Okta': () => ({ call: change(false), status: 200 }),
    'Verifies that user is deactivated on your SCIM server': () => readBy({ active: false }),
  }

  test.for(Object.entries(steps))('%s', async ([, step]) => {
    if ('inOkta' in step) return expect(step.inOkta).toMatch(/./)
    const { call, status, body = {}, take } = step()

    const answer = await scim.call(call)

    expect(answer).toMatchObject({ status, body })
    take?.(answer)
  })

  test('ends with one person who has joined, moved, left, returned and left', async () => {
    expect(await scim.events()).toMatchObject([
      { active: true, name: { givenName: login.split('@')[0] } },
      { active: true, name: { givenName: 'Updated' } },
      { active: false },
      { active: true },
      { active: false },
    ])
  })
})
