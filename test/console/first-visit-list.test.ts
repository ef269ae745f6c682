import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { type EmptyDaemon, noticeIn, openEmptyDaemon, tokenIn } from '../helpers/first-visit.ts'
import { type HrServer, startHrServer } from '../helpers/sources/hr-server.ts'
import { type Host, startHost } from '../helpers/world.ts'

const secret = 'token-with-${sign}-of-the-list'

let host: Host
let tenant: Awaited<ReturnType<Host['tenant']>>
let hr: HrServer

/** A SCIM list of three users, one of whom was deactivated. */
beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  const users = ['ana', 'ben', 'cleo'].map((name, at) => ({
    id: `u${at + 1}`,
    active: at < 2,
    name: { givenName: name, familyName: 'Berg' },
    emails: [{ type: 'work', value: `${name}@example.com` }],
  }))
  hr = await startHrServer((request, response) => {
    const isAllowed = request.headers.authorization === `Bearer ${secret}`
    response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isAllowed ? { totalResults: 3, Resources: users } : {}))
  })
})
afterAll(async () => {
  await hr[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

function settings() {
  return { url: `${hr.url}/scim/Users`, allowPrivate: true, insecure: true, pages: 'single' }
}

function listRequest(bearer: string = secret, more: object = {}) {
  return {
    ...{ recipe: 'scim', name: 'HR', timeZone: 'UTC', parameters: { host: 'hr.example.com' } },
    ...{ credentials: { bearer }, settings: settings(), ...more },
  }
}

async function openDaemon(): Promise<EmptyDaemon> {
  return await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
}

describe('an admin at the console', () => {
  test('chooses a system, gives the credentials, sees the people, and connects it', async () => {
    await using empty = await openDaemon()
    const visitor = await empty.visitor()
    const start = await visitor.get('/connect')
    const chosen = await visitor.get('/connect/recipe?recipe=scim')
    const form = await visitor.get('/connect/recipe/scim')
    const token = tokenIn(form.text)
    const lines = Object.entries(settings()).map(([name, value]) => `${name}=${value}`)
    const fields = {
      token,
      'parameter-host': 'hr.example.com',
      'parameter-path': 'scim',
      name: 'HR',
      timeZone: 'UTC',
      settings: lines.join('\r\n'),
    }

    const refused = await visitor.post('/connect/recipe/scim', { ...fields, 'credential-bearer': 'another' })
    const read = await visitor.post('/connect/recipe/scim', { ...fields, 'credential-bearer': secret })
    const list = await visitor.get(read.location ?? '')
    const ask = await visitor.get(`${read.location}/connection`)
    const [, digest = ''] = /name="digest" value="([^"]+)"/.exec(ask.text) ?? []
    const untouched = await empty.config()
    const done = await visitor.post(`${read.location}/connection`, { token, digest, apiKey: tenant.key })

    expect(start.text).toContain('Any system with a SCIM 2.0 list of users')
    expect(chosen.location).toBe('/connect/recipe/scim')
    expect(form.text).toMatch(/Create a token for SCIM[\s\S]*Host of the SCIM address[\s\S]*type="password"/)
    expect(noticeIn(refused.text)).toMatch(/401/)
    expect(empty.events).toContainEqual(expect.objectContaining({ event: 'first_visit.unread', source: 'scim' }))
    expect(refused.text).not.toContain('another')
    expect([read.status, list.status]).toEqual([303, 200])
    expect(list.text).toMatch(/u1[\s\S]*ana@example\.com/)
    expect(list.text).not.toContain(secret)
    expect(ask.text).toContain('hr-bearer.secret')
    expect(untouched).toBe(empty.text)
    expect(done.location).toBe('/connect/done')
    const text = await empty.config()
    expect(text.startsWith(empty.text)).toBe(true)
    expect(parse(text).connections.hr.source).toEqual({
      preset: 'scim',
      parameters: { host: 'hr.example.com' },
      bearer: `\${file:hr-bearer.secret}`,
      ...settings(),
      timeZone: 'UTC',
    })
    const secretFile = join(empty.folder, 'hr-bearer.secret')
    expect(await readFile(secretFile, 'utf8')).toBe(`${secret}\n`)
    expect((await stat(secretFile)).mode & 0o777).toBe(0o600)
    expect(empty.reloadRequests).toEqual(['reload'])
    expect((await loadConfig(empty.file, {})).connections.get('hr')?.source?.settings.type).toBe('http')
  })

  test('keeps the form, apart from secrets, where the system cannot be reached', async () => {
    await using empty = await openDaemon()
    const visitor = await empty.visitor()
    const token = tokenIn((await visitor.get('/connect/recipe/personio-api')).text)

    const refused = await visitor.post('/connect/recipe/personio-api', {
      ...{ token, name: 'HR', timeZone: 'UTC' },
      'credential-login.body.client_id': 'papi-of-the-test',
      'credential-login.body.client_secret': secret.replace('$', ''),
      settings: 'url=http://127.0.0.1:9/people\nlogin.url=http://127.0.0.1:9/auth\nallowPrivate=true\ninsecure=true',
    })

    expect(refused.status).toBe(503)
    expect(noticeIn(refused.text)).toContain('http://127.0.0.1:9/auth refuses connections')
    expect(refused.text).toContain('value="papi-of-the-test"')
    expect(refused.text).toContain('people\nlogin.url=http://127.0.0.1:9/auth\nallowPrivate=true\n')
    expect(refused.text).not.toContain(secret.replace('$', ''))
  })

  test('can forget a list before it is connected', async () => {
    await using empty = await openDaemon()
    const { body } = await empty.post('/first-visit/lists', listRequest())
    const visitor = await empty.visitor()
    const ask = await visitor.get(`/connect/list/${body.id}/drop`)

    const dropped = await visitor.post(`/connect/list/${body.id}/drop`, { token: tokenIn(ask.text) })

    const gone = await visitor.get(`/connect/list/${body.id}`)
    expect([dropped.location, gone.location]).toEqual(['/connect', '/connect'])
  })
})

describe('a list that was read', () => {
  test('says what a first run would do, how the list ended, and holds no secret', async () => {
    await using empty = await openDaemon()

    const { status, body } = await empty.post('/first-visit/lists', listRequest())

    expect(status).toBe(201)
    expect(body).toMatchObject({
      ...{ recipe: 'scim', connection: 'hr', rows: 3, records: 3, rejected: 0, end: expect.any(String) },
      source: `${hr.url}/scim/Users`,
      secretFiles: [join(empty.folder, 'hr-bearer.secret')],
      key: { isKnown: false, file: join(empty.folder, 'platform.key') },
    })
    expect(JSON.stringify(body)).not.toContain(secret)
    expect(await empty.config()).toBe(empty.text)
  })

  test("is nobody else's, is replaced by the next one, and is forgotten after a while", async () => {
    await using empty = await openEmptyDaemon({ limits: { maxBytes: 1024, maxUploads: 4, maxIdleMs: 300 } })
    const [ana, ben] = [await empty.newToken('ana', 'admin'), await empty.newToken('ben', 'admin')]
    const statusOf = async (id: unknown, token: string) =>
      (await empty.api(`/first-visit/lists/${id}`, {}, token)).status
    const first = await empty.post('/first-visit/lists', listRequest(), ana)

    const [own, other] = [await statusOf(first.body.id, ana), await statusOf(first.body.id, ben)]
    const second = await empty.post('/first-visit/lists', listRequest(), ana)

    expect([own, other, await statusOf(first.body.id, ana)]).toEqual([200, 404, 404])
    // Each look keeps it for longer.
    await expect.poll(() => statusOf(second.body.id, ana), { interval: 700, timeout: 10_000 }).toBe(404)
  })

  test('is not connected where the configuration was changed meanwhile, and leaves no secret behind where the key is wrong', async () => {
    await using empty = await openDaemon()
    const { body } = await empty.post('/first-visit/lists', listRequest())
    const connect = (more: object) => empty.post(`/first-visit/lists/${body.id}/connection`, more)

    const outdated = await connect({ digest: 'sha256:other', apiKey: tenant.key })
    const wrong = await connect({ digest: body.digest, apiKey: 'no key at all' })
    const without = await connect({ digest: body.digest })

    expect([outdated.status, wrong.status >= 400, without.status]).toEqual([409, true, 422])
    await expect(stat(join(empty.folder, 'hr-bearer.secret'))).rejects.toThrow('ENOENT')
    expect(await empty.config()).toBe(empty.text)
  })
})

test('a file that is there already is not replaced by a secret, and the key that was written before it is removed', async () => {
  await using empty = await openDaemon()
  const { body } = await empty.post('/first-visit/lists', listRequest())
  const secretFile = join(empty.folder, 'hr-bearer.secret')
  await writeFile(secretFile, 'of somebody')

  const confirmed = { digest: body.digest, apiKey: tenant.key }
  const refused = await empty.post(`/first-visit/lists/${body.id}/connection`, confirmed)

  expect(refused.status).toBe(409)
  expect(refused.body.message).toContain('hr-bearer.secret')
  expect(await readFile(secretFile, 'utf8')).toBe('of somebody')
  await expect(stat(join(empty.folder, 'platform.key'))).rejects.toThrow('ENOENT')
  expect(await empty.config()).toBe(empty.text)
})

describe('what is given for a list', () => {
  let empty: EmptyDaemon
  beforeAll(async () => {
    empty = await openDaemon()
  })
  afterAll(() => empty[Symbol.asyncDispose]())

  test.each([
    ['an unknown recipe', { recipe: 'scm' }, 'there is no recipe "scm": did you mean "scim"?'],
    ['a missing parameter', { parameters: {} }, 'give the host of the SCIM address, such as hr.example.com'],
    [
      'an unknown parameter',
      { parameters: { hostt: 'a' } },
      'the recipe has no "hostt" for parameters: did you mean "host"?',
    ],
    [
      'a parameter of another form',
      { parameters: { host: 'a/b' } },
      "parameters.host: is no host of the SCIM address such as 'hr.example.com'",
    ],
    ['a missing credential', { credentials: {} }, 'give the bearer token'],
    ['a credential of another recipe', { credentials: { basic: 'x' } }, 'the recipe has no "basic" for credentials'],
    ['a reference to a file', { settings: { bearer: '${file:/etc/passwd}' } }, 'a reference such as'],
    ['a reference as a name', { name: '${file:/etc/hostname}' }, 'a reference such as'],
    ['a file of the machine', { settings: { ca: '/etc/passwd' } }, 'ca is no setting for a browser'],
    [
      'a certificate of the machine',
      { settings: { 'oauth2.certificate': '/etc/passwd' } },
      'oauth2.certificate is no setting for a browser',
    ],
    [
      'a group that may hold one',
      { settings: { oauth2: { certificate: '/etc/passwd' } } },
      'oauth2 is no setting for a browser',
    ],
    [
      'an unknown setting',
      { settings: { requestPerMinute: 60 } },
      'requestPerMinute: Unrecognized key: "requestPerMinute" (did you mean "requestsPerMinute"?)',
    ],
    [
      'a setting unlike any other',
      { settings: { colour: 'blue' } },
      'colour: Unrecognized key: "colour" (docs/settings.md lists what is known here)',
    ],
    ['a time zone that there is not', { timeZone: 'Mars' }, 'unknown time zone "Mars"'],
    ['a private address', { settings: { url: 'https://127.0.0.1:9/Users' } }, 'allowPrivate: true'],
  ])('is refused with %s, in a sentence', async (_what, more, sentence) => {
    const { status, body } = await empty.post('/first-visit/lists', listRequest(secret, more))

    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(body.message).toContain(sentence)
    expect(body.message).not.toMatch(/rollcall\.yaml|connections\.hr/)
    expect(JSON.stringify(body)).not.toContain(secret)
  })
})

describe('of a platform elsewhere', () => {
  test.each(['url', 'allowPrivate', 'headers.X-Flavor', 'preset', 'oauth2.tokenUrl'])(
    'a browser cannot set %s',
    async (setting) => {
      await using empty = await openEmptyDaemon({ baseUrl: 'https://platform.example' })

      const { status, body } = await empty.post(
        '/first-visit/lists',
        listRequest(secret, { settings: { [setting]: 'x' } }),
      )

      expect(status).toBe(400)
      expect(body.message).toContain(`${setting} is no setting for a browser`)
    },
  )
})
