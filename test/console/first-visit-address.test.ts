import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { type EmptyDaemon, noticeIn, openEmptyDaemon, tokenIn } from '../helpers/first-visit.ts'
import { type Answer, csv, type HrServer, json, startHrServer } from '../helpers/sources/hr-server.ts'
import { type Host, startHost } from '../helpers/world.ts'

const secret = 'secret-with-${sign}-of-the-list'

/** People of whom the second one has left. */
function people(count: number, from = 0) {
  return Array.from({ length: count }, (_, at) => ({
    employeeId: `p${from + at + 1}`,
    ...{ firstName: 'Ana', lastName: 'Berg', email: `p${from + at + 1}@example.com` },
    startDate: '2020-01-06',
    terminationDate: from + at === 1 ? '2024-05-31' : null,
    status: from + at === 1 ? 'Terminated' : 'Active',
  }))
}

/** Three pages of people, for those who sign in in one of the ways. */
const pages: Answer = (request, response) => {
  const { authorization } = request.headers
  const basic = `Basic ${Buffer.from(`reader:${secret}`).toString('base64')}`
  const isAllowed =
    authorization === `Bearer ${secret}` || authorization === basic || request.headers['x-key'] === secret
  if (!isAllowed) return void response.writeHead(401).end()
  const offset = Number(new URL(request.url ?? '', 'http://hr').searchParams.get('offset') ?? '0')
  json({ data: people(Math.min(50, 120 - offset), offset), meta: { total: 120 } })(request, response)
}

let host: Host
let tenant: Awaited<ReturnType<Host['tenant']>>
let hr: HrServer
let empty: EmptyDaemon

beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  hr = await startHrServer(pages)
  empty = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
})
afterAll(async () => {
  await empty[Symbol.asyncDispose]()
  await hr[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const reading = { fields: { separatedAt: 'terminationDate', status: 'status' } }
const connection = { name: 'HR', timeZone: 'UTC' }

async function readAddress(daemon: EmptyDaemon, request: object, token?: string) {
  return await daemon.post('/first-visit/addresses', { url: `${hr.url}/v1/people`, ...request }, token)
}

test('an admin gives an address and a key, sees how the list is read and what a run would do, and connects it', async () => {
  await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
  const visitor = await own.visitor()
  const chosen = await visitor.get('/connect/address?signIn=apiKey')
  const form = await visitor.get('/connect/address/apiKey')
  const token = tokenIn(form.text)
  const fields = { token, url: `${hr.url}/v1/people`, header: 'X-Key' }

  const refused = await visitor.post('/connect/address/apiKey', { ...fields, secret: 'another' })
  const read = await visitor.post('/connect/address/apiKey', { ...fields, secret })
  const asRead = await visitor.get(read.location ?? '')
  const answers = 'name=HR&timeZone=UTC&field-separatedAt==terminationDate&field-status==status'
  const plan = await visitor.get(`${read.location}/plan?${answers}`)
  const requests = hr.requests.length
  const ask = await visitor.get(`${read.location}/connection?${answers}`)
  const [, digest = ''] = /name="digest" value="([^"]+)"/.exec(ask.text) ?? []
  const untouched = await own.config()
  const hidden = Object.fromEntries(new URLSearchParams(answers))
  const done = await visitor.post(`${read.location}/connection`, { token, digest, apiKey: tenant.key, ...hidden })

  expect(chosen.location).toBe('/connect/address/apiKey')
  expect(noticeIn(refused.text)).toMatch(/401/)
  expect(own.events).toContainEqual({
    ...{ event: 'first_visit.unread', source: `${hr.url}/v1/people`, code: 'source_unreadable' },
    reason: expect.stringContaining('401'),
  })
  expect(refused.text).toContain('value="X-Key"')
  expect(`${refused.text}${asRead.text}${plan.text}${ask.text}`).not.toContain('with-${sign}')
  expect(asRead.text).toMatch(/a second one was fetched with its position, sent as offset/)
  expect(asRead.text).toMatch(/Rollcall cannot tell whether the list includes people who have left/)
  expect(asRead.text).not.toContain('Folder for exports')
  expect(plan.text).toMatch(/page 3 is the last[\s\S]*p1@example\.com/)
  // The list is not read again for the question.
  expect(hr.requests.length).toBe(requests)
  expect(untouched).toBe(own.text)
  expect(done.location).toBe('/connect/done')
  expect(parse(await own.config()).connections.hr.source).toMatchObject({
    ...{ type: 'http', format: 'json', url: `${hr.url}/v1/people`, records: '/data', mode: 'snapshot' },
    pages: { by: 'offset', parameter: 'offset', total: '/meta/total' },
    apiKey: { header: 'X-Key', value: '${file:hr-apiKey-value.secret}' },
  })
  const secretFile = join(own.folder, 'hr-apiKey-value.secret')
  expect(await readFile(secretFile, 'utf8')).toBe(`${secret}\n`)
  expect((await stat(secretFile)).mode & 0o777).toBe(0o600)
  expect((await loadConfig(own.file, {})).connections.get('hr')?.source?.settings.type).toBe('http')
  expect(own.reloadRequests).toEqual(['reload'])
})

test.each([
  ['a token', { with: 'bearer', token: secret }, { bearer: '${file:hr-bearer.secret}' }],
  [
    'a user name and a password',
    { with: 'basic', username: 'reader', password: secret },
    { basic: { username: 'reader', password: '${file:hr-basic-password.secret}' } },
  ],
])('with %s, a first run is planned over every page', async (_what, signIn, written) => {
  const { body } = await readAddress(empty, { signIn })

  const plan = await empty.post(`/first-visit/exports/${body.id}/plan`, { reading, ...connection })

  expect(body).toEqual({ id: expect.any(String), name: `127.0.0.1:${hr.port}/v1/people`, bytes: null })
  expect(plan.body).toMatchObject({ rows: 120, records: 120, end: expect.stringContaining('120'), makesFolder: null })
  expect(parse(String(plan.body.text)).connections.hr.source).toMatchObject(written)
  expect(JSON.stringify(plan.body)).not.toContain(secret)
})

test('an export at an address is read as one', async () => {
  const rows = people(30).map((person) => Object.values(person).join(';'))
  await using server = await startHrServer(csv(`${Object.keys(people(1)[0] ?? {}).join(';')}\n${rows.join('\n')}\n`))
  const { body } = await readAddress(empty, { url: `${server.url}/people.csv`, signIn: { with: 'nothing' } })

  const plan = await empty.post(`/first-visit/exports/${body.id}/plan`, { reading, ...connection })

  expect(plan.body).toMatchObject({ rows: 30, records: 30 })
  expect(parse(String(plan.body.text)).connections.hr.source).toMatchObject({ format: 'csv', delimiter: ';' })
})

test('a list that is not read to its end because its person began another one is logged as no trouble', async () => {
  await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
  const requested = Promise.withResolvers<void>()
  await using silent = await startHrServer(() => requested.resolve())
  const signIn = { with: 'bearer', token: secret }

  const first = readAddress(own, { url: silent.url, signIn })
  await requested.promise
  const second = await readAddress(own, { signIn })
  const superseded = await first

  expect([superseded.status, superseded.body.message]).toEqual([409, 'you began to read something else meanwhile'])
  expect(second.status).toBe(201)
  expect(own.events.filter(({ event }) => event === 'first_visit.unread')).toEqual([])
})

describe('an address that leads to no list of people is refused with a sentence', () => {
  const page = '<!doctype html><title>Sign in</title>'
  test.each([
    ['a web page', (_request, response) => response.end(page), {}, /is a web page \(HTML\)/],
    ['one record', json({ id: 1, email: 'a@b.c' }), {}, /is one record, and no list of them/],
    ['no JSON', json('{"a": ['), {}, /is not valid JSON/],
    [
      'several lists',
      json({ a: people(4), b: people(3) }),
      {},
      /\/a \(4\) and \/b \(3\): .*the path of the list, such as \/a$/,
    ],
    ['a wrong pointer', json({ a: people(4) }), { records: '/b' }, /no list of records at \/b: give .*, such as \/a$/],
    ['a name that reads as a reference', json({ '${file:/etc/passwd}': people(4) }), {}, /holds \$\{/],
    [
      'a wrong password',
      (_request, response) => response.writeHead(401).end(page),
      {},
      /does not accept the credentials/,
    ],
  ] satisfies [string, Answer, object, RegExp][])('%s', async (_what, answer, more, expected) => {
    await using server = await startHrServer(answer)

    const { status, body } = await readAddress(empty, { url: server.url, signIn: { with: 'nothing' }, ...more })

    expect([400, 422]).toContain(status)
    expect(body.message).toMatch(expected)
    expect(JSON.stringify(body)).not.toContain('Sign in')
  })

  test.each([
    ['no address', 'hr.example.com/people', /give the whole address/],
    ['another scheme', 'file:///etc/passwd', /give the whole address/],
    ['a password in it', 'https://a:b@hr.example.com/', /leave user name and password out/],
    ['no encryption', 'http://hr.example.com/people', /begins with https/],
    ['the network of the machine', 'https://10.0.0.1/people', /no address of the public internet/],
    ['the data of its cloud', 'https://169.254.169.254/latest/meta-data', /no address of the public internet/],
    ['a reference', 'http://127.0.0.1/?key=${file:/etc/hostname}', /begins a reference/],
  ])('%s', async (_what, url, expected) => {
    const { status, body } = await readAddress(empty, { url, signIn: { with: 'nothing' } })

    expect([400, 422]).toContain(status)
    expect(body.message).toMatch(expected)
  })
})

test('no address can be given in a browser where the platform is elsewhere', async () => {
  await using elsewhere = await openEmptyDaemon({ baseUrl: 'https://platform.example' })
  const visitor = await elsewhere.visitor()
  const requests = hr.requests.length

  const start = await visitor.get('/connect')
  const { status, body } = await readAddress(elsewhere, { signIn: { with: 'bearer', token: secret } })

  expect(start.text).not.toContain('Read a list at an address')
  expect([status, body.message]).toEqual([400, expect.stringContaining('a browser cannot give an address')])
  expect(hr.requests.length).toBe(requests)
})

describe('what is read for one person', () => {
  const limits = { maxBytes: 1024, maxUploads: 2, maxIdleMs: 60_000 }

  /** A server whose lists never end, and which tells how many of them are being sent. */
  async function startSlowServer() {
    let open = 0
    const server = await startHrServer((request, response) => {
      open += 1
      response.on('close', () => {
        open -= 1
      })
      response.writeHead(200, { 'content-type': 'application/json' }).write('[')
      request.resume()
    })
    return { ...server, url: server.url, open: () => open }
  }

  test('stops when the browser has left', async () => {
    await using server = await startSlowServer()
    const leaving = new AbortController()
    const body = JSON.stringify({ url: server.url, signIn: { with: 'nothing' } })
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body, signal: leaving.signal }
    const answer = empty.api('/first-visit/addresses', init).catch(() => 'left')
    await expect.poll(server.open).toBe(1)

    leaving.abort()

    expect(await answer).toBe('left')
    await expect.poll(server.open).toBe(0)
  })

  test('stops when the same person reads something else, so that nobody takes the places of others', async () => {
    await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl, limits })
    await using server = await startSlowServer()
    const [ana, ben, cleo] = [
      await own.newToken('ana', 'admin'),
      await own.newToken('ben', 'admin'),
      await own.newToken('cleo', 'admin'),
    ]
    const slow = { url: server.url, signIn: { with: 'nothing' } }
    const quick = { signIn: { with: 'bearer', token: secret } }
    const first = readAddress(own, slow, ana)
    await expect.poll(server.open).toBe(1)
    const second = readAddress(own, slow, ana)
    const stopped = await first
    await expect.poll(server.open).toBe(1)

    const other = await readAddress(own, quick, ben)
    const tooMany = await readAddress(own, quick, cleo)
    const last = await readAddress(own, quick, ana)

    expect([stopped.status, stopped.body.message]).toEqual([409, expect.stringContaining('read something else')])
    expect((await second).status).toBe(409)
    expect([other.status, tooMany.status, last.status]).toEqual([201, 429, 201])
    await expect.poll(server.open).toBe(0)
  })
})
