import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { revokeToken } from '../../../src/store/access/tokens.ts'
import {
  errorSchema,
  oktaUser,
  openScim,
  patchOf,
  type ScimCall,
  scimClient,
} from '../../helpers/sources/scim-server.ts'

const now = new Date('2026-11-20T03:00:00.000Z')

let scim: Awaited<ReturnType<typeof openScim>>
let user: { readonly id: string }
beforeAll(async () => {
  scim = await openScim({ settings: { bodyLimitBytes: 4096 } })
  user = (await scim.call({ method: 'POST', path: '/Users', body: oktaUser('ana@acme.example') })).body as typeof user
})
beforeEach(() => scim.loggedEvents.splice(0))
afterAll(() => scim[Symbol.asyncDispose]())

const post = (body: ScimCall['body'], headers: ScimCall['headers'] = {}): ScimCall => ({
  method: 'POST',
  path: '/Users',
  body,
  headers,
})
const patch = (...operations: object[]): ScimCall => ({
  method: 'PATCH',
  path: '/Users/ID',
  body: patchOf(...operations),
})

/** Every refusal has the body of the standard, stores nothing, and is logged without a value of the request. */
describe('a request is refused with the error of the standard', () => {
  test.each<[string, ScimCall, number, string?]>([
    [
      'a patch with an unknown path',
      patch({ op: 'replace', path: 'favouriteColour', value: 'Ottoline' }),
      400,
      'invalidPath',
    ],
    [
      'a patch without its schema',
      { ...patch(), body: { Operations: [{ op: 'remove', path: 'title' }] } },
      400,
      'invalidSyntax',
    ],
    [
      'a filter that is not supported',
      { path: `/Users?filter=${encodeURIComponent('title eq "Ottoline"')}` },
      400,
      'invalidFilter',
    ],
    [
      'a filter that cannot be read',
      { path: `/Groups?filter=${encodeURIComponent('displayName Ottoline')}` },
      400,
      'invalidFilter',
    ],
    ['a page that is no number', { path: '/Users?startIndex=one' }, 400, 'invalidValue'],
    ['a parameter that is there twice', { path: '/Users?count=1&count=2' }, 400, 'invalidValue'],
    ['a duplicate userName', post(oktaUser('ANA@acme.example')), 409, 'uniqueness'],
    [
      'a member that no index holds',
      { method: 'POST', path: '/Groups', body: { displayName: 'a', members: [{ value: 'Ottoline'.repeat(100) }] } },
      400,
      'invalidValue',
    ],
    [
      'a group with a NUL character',
      { method: 'POST', path: '/Groups', body: { displayName: 'Ottoline\0' } },
      400,
      'invalidValue',
    ],
    ['a name that no index holds', post({ userName: '漢'.repeat(700) }), 400, 'invalidValue'],
    ['a user without a userName', post({ displayName: 'Ottoline' }), 400, 'invalidValue'],
    ['a patch that takes the userName away', patch({ op: 'remove', path: 'userName' }), 400, 'invalidValue'],
    ['a user that no row can hold', post(oktaUser('bo@acme.example', { title: 'Ottoline\0' })), 400, 'invalidValue'],
    [
      'deep JSON',
      post(`{"userName":"Ottoline","name":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`),
      400,
      'invalidSyntax',
    ],
    ['half a document', post('{"userName":"Ottoline'), 400, 'invalidSyntax'],
    ['no document', post(''), 400, 'invalidSyntax'],
    ['no body', { method: 'POST', path: '/Users' }, 400, 'invalidSyntax'],
    ['a huge body', post(oktaUser('bo@acme.example', { title: 'Ottoline'.repeat(1000) })), 413],
    ['another media type', post('<user>Ottoline</user>', { 'content-type': 'application/xml' }), 415],
    ['a packed body', post(gzipSync('{"userName":"Ottoline"}'), { 'content-encoding': 'gzip' }), 415],
    [
      'a member without a value',
      { method: 'POST', path: '/Groups', body: { displayName: 'a', members: [{ display: 'Ottoline' }] } },
      400,
      'invalidValue',
    ],
    ['an unknown user', { method: 'PUT', path: '/Users/none', body: oktaUser('bo@acme.example') }, 404],
    ['an unknown path', { method: 'POST', path: '/Bulk', body: {} }, 404],
    ['a method that is not there', { method: 'DELETE', path: '/Users' }, 404],
  ])('%s', async (_, call, status, scimType) => {
    const before = (await scim.events()).length

    const answer = await scim.call({ ...call, path: call.path.replace('/ID', `/${user.id}`) })

    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toMatch(/^application\/scim\+json/)
    expect(answer.body).toEqual({
      schemas: [errorSchema],
      status: String(status),
      ...(scimType && { scimType }),
      detail: expect.stringMatching(/./),
    })
    expect(await scim.events()).toHaveLength(before)
    expect(JSON.stringify(scim.loggedEvents)).not.toMatch(/Ottoline|acme\.example/)
  })
})

describe('who is let in', () => {
  test('only a token of the connection, while it is valid', async () => {
    const clock = { now }
    await using served = await openScim({ now: () => clock.now })
    const ofBeta = await served.makeToken('beta')
    const short = await served.makeToken('hr', new Date(now.getTime() + 60_000))
    const statusFor = async (token: string, connection = 'hr') => {
      const { status, body } = await scimClient(`${served.url}/scim/v2/${connection}`, token)({ path: '/Users' })
      return `${status} ${body.detail ?? ''}`
    }

    const answers = [await statusFor(served.token), await statusFor(short), await statusFor(ofBeta, 'beta')]
    clock.now = new Date(now.getTime() + 61_000)
    const refused = [
      await statusFor(short),
      await statusFor(ofBeta),
      await statusFor(served.token, 'beta'),
      await statusFor(`rct_${'0'.repeat(72)}`),
      await statusFor(served.token, 'gamma'),
    ]

    expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '200', '200'])
    expect(refused.map((answer) => answer.slice(0, 3))).toEqual(['401', '401', '401', '401', '401'])
    expect(refused[0]).toContain('expired')
    expect(new Set(refused.slice(1)).size).toBe(1)
    expect(JSON.stringify(served.loggedEvents)).not.toContain('gamma')
  })

  test('two tokens are valid while one replaces the other, until it is revoked', async () => {
    await using served = await openScim()
    const replacement = await served.makeToken('hr')
    const statusFor = async (token: string) =>
      (await scimClient(`${served.url}/scim/v2/hr`, token)({ path: '/Users' })).status
    const { name } = await served.store.db
      .selectFrom('access_tokens')
      .select('name')
      .orderBy('id')
      .executeTakeFirstOrThrow()

    const before = [await statusFor(served.token), await statusFor(replacement)]
    await served.store.db.transaction().execute((tx) => revokeToken(tx, { name, by: 'test', now }))
    const after = [await statusFor(served.token), await statusFor(replacement)]

    expect([before, after]).toEqual([
      [200, 200],
      [401, 200],
    ])
  })

  test('an address that fails too often waits, and a valid token from there is admitted', async () => {
    await using served = await openScim()
    const call = scimClient(`${served.url}/scim/v2/hr`, 'wrong')
    for (let i = 0; i < 20; i += 1) await call({ path: '/Users' })

    const answer = await call({ path: '/Users' })

    expect((await served.call({ path: '/Users' })).status).toBe(200)

    expect(answer).toMatchObject({ status: 429, body: { schemas: [errorSchema], status: '429' } })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

test('a full inbox asks the sender to come again, and stores nothing', async () => {
  await using served = await openScim({ settings: { inboxLimit: 1 } })
  await served.call(post(oktaUser('ana@acme.example')))

  const answer = await served.call(post(oktaUser('bo@acme.example')))

  expect(answer).toMatchObject({ status: 429, body: { status: '429' } })
  expect(answer.headers.get('retry-after')).toBe('60')
  expect((await served.call({ path: '/Users' })).body.totalResults).toBe(1)
})

test('more changes than may be under way are asked to come again', async () => {
  await using served = await openScim({ maxUnderWay: 2 })
  const client = await served.store.pool.connect()
  await client.query('begin')
  await client.query("select from scim_connections where connection = 'hr' for update")

  const sent = ['ana', 'bo', 'cem'].map((name) => served.call(post(oktaUser(`${name}@acme.example`))))
  const first = await Promise.race(sent)
  await client.query('commit')
  client.release()

  expect(first).toMatchObject({ status: 503, body: { schemas: [errorSchema], status: '503' } })
  expect((await Promise.all(sent)).map(({ status }) => status).toSorted()).toEqual([201, 201, 503])
})

test('a fault of ours says nothing of itself', async () => {
  await using served = await openScim()
  await served.store.pool.query('drop table scim_members, scim_resources cascade')

  const answer = await served.call(post(oktaUser('ana@acme.example')))

  expect(answer).toMatchObject({ status: 500, body: { schemas: [errorSchema], status: '500' } })
  expect(JSON.stringify(answer.body)).not.toContain('scim_resources')
})
