import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blockConnection, unblockConnection } from '../../src/store/connections/connections.ts'
import { stateDeparture } from '../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../src/sync/requests/withdrawn-departures.ts'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'
import { type Company, openCompany } from './company.ts'

let host: Host
let company: Company

beforeAll(async () => {
  host = await startHost()
  company = await openCompany(host)
})
afterAll(async () => {
  await company[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const person = (key: string) => `/person?connection=acme&key=${key}`

function visitor(name: string | null, role = 'approver') {
  return createVisitor(company.console.url, name === null ? null : `${name}.${role}`)
}

test('a stranger has to sign in, and then gets the requested page', async () => {
  const stranger = visitor(null)

  const answers = [await stranger.get('/'), await stranger.get('/runs?state=held'), await stranger.get('/nothing')]

  expect(answers.map(({ status, location }) => [status, location])).toEqual([
    [303, '/sign-in'],
    [303, '/sign-in?to=%2Fruns%3Fstate%3Dheld'],
    [404, null],
  ])
})

test('every page keeps strangers out: no inline script or style, no frames, no copies', async () => {
  const ana = visitor('ana')

  for (const path of ['/', '/runs', '/nothing', '/runs/none', '/overview']) {
    const { headers, text } = await ana.get(path)
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect([headers.get('cache-control'), headers.get('x-frame-options')]).toEqual(['no-store', 'DENY'])
    expect(text).not.toMatch(/<style|\sstyle=|<script(?! src=)|\son[a-z]+=/)
  }
})

test('an unknown path answers a program with JSON and a browser with a page', async () => {
  const ana = visitor('ana')

  const answers = [
    await ana.get('/nothing'),
    await ana.get('/nothing', { accept: 'application/json' }),
    await ana.get('/api/v1/nothing'),
    await ana.post('/nothing', {}),
  ]

  expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
    [404, 'text/html; charset=utf-8'],
    [404, 'application/json; charset=utf-8'],
    [404, 'application/json; charset=utf-8'],
    [404, 'application/json; charset=utf-8'],
  ])
  expect(answers[0]?.text).toContain('There is no such page.')
})

describe('what a viewer sees', () => {
  test.each([
    ['a person', person('E0007')],
    ['a run', '/runs/SETTLED'],
    ['a held plan', '/runs/HELD/decision'],
    ['problems', '/problems?values=1'],
    ['people', '/people'],
  ])('of %s are keys and the names of fields, and no personal value', async (_what, path) => {
    const actualPath = path.replace('SETTLED', company.settled.id).replace('HELD', company.held.id)

    const page = await visitor('vera', 'viewer').get(actualPath)
    const shown = await visitor('ana', 'operator').get(actualPath)

    expect(page.status).toBe(200)
    expect(page.text).not.toMatch(/Person \d|@acme\.example|Engineer|Lead\b/)
    expect(shown.text).toMatch(/Person \d|@acme\.example|Engineer/)
  })

  test('names who may do what the viewer may not, and a viewer’s request changes nothing', async () => {
    const vera = visitor('vera', 'viewer')

    const page = await vera.get(person('E0005'))
    const question = await vera.get(`/runs/${company.held.id}/approval`)
    const sent = await vera.post(`/runs/${company.held.id}/approval`, {
      token: 'token of vera',
      digest: company.held.digest ?? '',
    })

    expect(page.text).toContain('only an approver can do this, and you are signed in as a viewer')
    expect([question.status, sent.status]).toEqual([403, 403])
    expect(sent.text).toContain('Only an approver can do this, and you are signed in as a viewer.')
    expect((await company.world.runOf(company.held.id)).state).toBe('held')
  })
})

test('a form without its token, or with that of another visitor, is refused', async () => {
  const path = `/runs/${company.held.id}/rejection`

  const answers = [await visitor('ana').post(path, {}), await visitor('ana').post(path, { token: 'token of ben' })]

  expect(answers.map(({ status }) => status)).toEqual([403, 403])
  expect(answers[0]?.text).toContain('This form is too old, or came from elsewhere.')
  expect((await company.world.runOf(company.held.id)).state).toBe('held')
})

test('a form that is too large, or is no form, changes nothing and gets a page', async () => {
  const path = `/runs/${company.held.id}/rejection`
  const headers = { cookie: 'visitor=ana.approver', accept: 'text/html', 'content-type': 'application/json' }

  const large = await visitor('ana').post(path, { token: 'token of ana', reason: 'x'.repeat(1_200_000) })
  const json = await fetch(company.console.url + path, { method: 'POST', headers, body: '{"token":"token of ana"}' })

  expect([large.status, json.status]).toEqual([413, 415])
  expect(large.text).toContain('No form of this page sends such a request.')
  expect((await company.world.runOf(company.held.id)).state).toBe('held')
})

test('the confirmation of an action is shown once, and a forged one is not shown', async () => {
  await using own = await openCompany(host, { people: 30 })
  const ana = createVisitor(own.console.url, 'ana.approver')
  const path = `/runs/${own.held.id}/rejection`

  const { location } = await ana.post(path, { token: 'token of ana', reason: 'HR says that it is wrong' })
  const first = await ana.get(location ?? '')
  const second = await ana.get(location ?? '')
  ana.cookies.set('rollcall_done', `${Buffer.from('All is well.').toString('base64url')}.forged`)
  const forged = await ana.get(location ?? '')

  expect(location).toBe(`/runs/${own.held.id}`)
  expect(first.text).toContain('The plan was rejected. Nothing was sent.')
  expect(second.text).not.toContain('The plan was rejected. Nothing')
  expect(forged.text).not.toContain('All is well')
  expect(await own.world.runOf(own.held.id)).toMatchObject({
    state: 'rejected',
    decidedBy: 'ana',
    decidedReason: 'HR says that it is wrong',
  })
})

test('a plan that changed since the page was opened is not approved, and the page says so', async () => {
  const ana = visitor('ana')
  const path = `/runs/${company.held.id}/approval`

  const { status, text } = await ana.post(path, { token: 'token of ana', digest: 'sha256:old', reason: 'I looked' })

  expect(status).toBe(409)
  expect(text).toContain(`is held with the plan ${company.held.digest}, not sha256:old`)
  expect(text).toContain('>I looked</textarea>')
  expect((await company.world.runOf(company.held.id)).state).toBe('held')
})

test('whoever requested a run cannot approve it if two people are required, and the page says so beforehand', async () => {
  await using own = await openCompany(host, { people: 33, twoPeople: true })
  const [ben, ana] = ['ben', 'ana'].map((name) => createVisitor(own.console.url, `${name}.approver`))
  const path = `/runs/${own.held.id}/approval`
  const digest = own.held.digest ?? ''

  const page = await ben?.get(`/runs/${own.held.id}/decision`)
  const refused = await ben?.post(path, { token: 'token of ben', digest })
  const approved = await ana?.post(path, { token: 'token of ana', digest })
  await own.world.drain()

  expect(page?.text).toContain('<strong>you requested this run</strong>, so another person has to approve it')
  expect([refused?.status, approved?.status]).toEqual([409, 303])
  expect(refused?.text).toContain('requires another person to approve it')
  const leavers = [...(await peopleOn(own.client)).values()].filter(({ separatedAt }) => separatedAt !== null)
  expect(leavers.map(({ identityId }) => identityId)).toContain('E0021')
})

test('lists page by cursor and keep their filters', async () => {
  const ana = visitor('ana')

  const all = await ana.get('/runs')
  const held = await ana.get('/runs?state=held&connection=acme')
  const none = await ana.get('/runs?state=cancelled')
  const tampered = await ana.get('/runs?after=abc')
  const unknown = await ana.get('/problems?connection=globex')

  expect(all.text.match(/<tr role="row">/g)).toHaveLength(4)
  expect(held.text.match(/<tr role="row">/g)).toHaveLength(2)
  expect(held.text).toContain('<option value="held" selected>')
  expect(none.text).toContain('No run matches.')
  expect([tampered.status, unknown.status]).toEqual([400, 404])
  expect(tampered.text).toContain('this value belongs to another list')
  expect(unknown.text).toContain('There is no connection &quot;globex&quot; in the configuration; it has acme.')
})

test('a plan can be filtered by kind and person, and links to the page of each person', async () => {
  const ana = visitor('ana')

  const leavers = await ana.get(`/runs/${company.settled.id}?kind=leave`)
  const one = await ana.get(`/runs/${company.settled.id}?q=e0005`)

  const planOf = (text: string) => keysOn(text.split('id="rejects"')[0] ?? '')
  expect(planOf(leavers.text)).toEqual(['E0005', 'E0007'])
  expect(planOf(one.text)).toEqual(['E0005'])
  expect(one.text).toContain('href="/person?connection=acme&amp;key=E0005"')
})

test('the overview says what needs a person, how each connection stands, and how long departures took', async () => {
  const { text } = await visitor('vera', 'viewer').get('/')
  const shown = text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')

  expect(shown).toContain('Alerts 3 A plan waits for a decision acme')
  expect(shown).toMatch(/A plan waits for a decision since 21 Nov 2026, 03:0\d UTC \./)
  expect(shown.split('of 38 people would be separated')).toHaveLength(2)
  expect(shown).toContain('38 people employed in 1 connection')
  expect(shown).toMatch(
    / 2 people had their last day in the last 7 days\. The platform acknowledged 1 departure \(half within \d+ s, 95 % within/,
  )
  expect(text).toContain('<title id="changes-acme-title">Changes per day, the last 90 days</title>')
  expect(text).toContain('<th scope="row">20 Nov 2026</th>')
})

test('a run lists the cells that could not be read, with line and column', async () => {
  const { text } = await visitor('ana').get(`/runs/${company.settled.id}`)

  expect(text).toContain('people.csv:<b>5</b>')
  expect(text).toContain('data-label="Column">Leaving Date</td>')
  expect(text).toContain('&quot;31.02.2026&quot; is not a date')
})

test('a person shows what HR says and what the platform has, the difference, the clock of the departure and each row', async () => {
  const { text } = await visitor('ana').get(person('E0007'))

  expect(text).toMatch(/<strong class="differs"><time[^>]*>18 Nov 2026<\/time><\/strong>/)
  expect(text).toContain('<dt>Due</dt>')
  expect(text).toContain('data-label="File and line">people.csv:8</td>')
  expect(text).toContain('must lie before the last day')
})

test('the problems name the refused person, what helps, and the person whose leaving date cannot be read', async () => {
  const { text } = await visitor('ana').get('/problems')

  expect(keysOn(text)).toEqual(['E0007', 'E0004'])
  expect(text).toContain('Still employed on the platform')
  expect(text).toContain('What helps: Have HR correct the record.')
})

test('the problems list the departures that operators state, where the alert about them leads', async () => {
  const { sync } = company.world
  const departure = { connection: 'acme', identityId: 'E0010', reason: 'dismissed', by: 'ana', principal: 'token:ana' }
  await stateDeparture(sync, { ...departure, on: '2026-12-01' })
  const { text } = await visitor('ana').get('/problems?connection=acme')
  await withdrawDeparture(sync, departure)
  const without = await visitor('ana').get('/problems?connection=acme')

  expect(text).toContain('id="stated"')
  expect(text).toContain('Leaves on 2026-12-01, stated by ana, not sent yet, not yet by HR: dismissed')
  expect(keysOn(text)).toContain('E0010')
  expect(without.text).not.toContain('id="stated"')
})

test('the problems are shown with names to an operator who wants them, and then do not renew themselves', async () => {
  const ana = visitor('ana', 'operator')

  const keys = await ana.get('/problems')
  const named = await ana.get('/problems?values=1&connection=acme')
  const part = await ana.follow('/problems/current?values=1')
  const { next } = await company.console.control.listProblems({ query: { limit: 1 } })
  const paged = await ana.get(`/problems?${new URLSearchParams({ values: '1', problems: next ?? '' })}`)
  const viewer = await visitor('vera', 'viewer').get('/problems')

  expect(keysOn(named.text)).toEqual(['E0007', 'E0004'])
  expect(namesOn(named.text)).toEqual(['Person 7', 'Person 4'])
  expect(named.text).not.toContain('hx-get="/problems/current')
  expect(paged.text).toContain('href="/problems?values=1#problems"')
  expect([keys, part].map(({ text }) => namesOn(text))).toEqual([[], []])
  expect(keys.text).toContain('hx-get="/problems/current')
  expect(keys.text).toContain('With names')
  expect(viewer.text).not.toContain('With names')
})

test.each(['E9999', '.', '..', 'a/b', '%', '<script>', '\u202egnp'])(
  'a key that no one has, %j, gets a sentence',
  async (key) => {
    const { status, text } = await visitor('ana').get(`/person?${new URLSearchParams({ connection: 'acme', key })}`)

    expect(status).toBe(404)
    expect(text).toContain('Nobody with the key')
    expect(text).not.toMatch(/<script>|\u202e/)
  },
)

test('a request for a part of a run that ended or is held reloads the whole page', async () => {
  const { status, headers, text } = await visitor('ana').get(`/runs/${company.settled.id}/progress`)

  expect([status, headers.get('hx-refresh'), text]).toEqual([200, 'true', ''])
})

test('a request for a part of a page without a sign-in reloads the page, which redirects to the sign-in', async () => {
  const { status, headers, text } = await visitor(null).get('/overview')

  expect([status, headers.get('hx-refresh'), text]).toEqual([200, 'true', ''])
})

test('the cookie of a confirmation is Secure if the console is visited over HTTPS', async () => {
  await using own = await openCompany(host, { people: 32 })
  await using console = await openConsole(own.world, { access: { isSecure: true } })
  const ana = createVisitor(console.url, 'ana.approver')

  const { headers, location } = await ana.post(`/runs/${own.held.id}/rejection`, { token: 'token of ana' })
  const resultPage = await ana.get(location ?? '')

  const [line] = headers.getSetCookie()
  expect(line).toMatch(/^__Host-rollcall_done=[^;]+; Max-Age=60; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
  expect(resultPage.text).toContain('The plan was rejected.')
})

test('the event stream gives a viewer keys and counts, and no personal value', async () => {
  const leaving = new AbortController()
  const headers = { cookie: 'visitor=vera.viewer' }
  const answer = await fetch(`${company.console.url}/api/v1/events/live`, { headers, signal: leaving.signal })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()

  let text = ''
  while (!text.includes('\n\n')) text += (await reader?.read())?.value ?? ''
  leaving.abort()

  expect(text).toContain(company.held.id)
  expect(text).toContain('"leave":13')
  expect(text).not.toMatch(/Person \d|@acme\.example|Engineer|Lead\b|E00\d\d|would be separated/)
})

test('an unreachable store gives a page with a sentence and no detail of the failure', async () => {
  const away = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3'), { code: 'ECONNREFUSED' })
  const { world } = company
  const db = new Proxy(world.sync.store.db, {
    get: () => () => {
      throw away
    },
  })
  await using broken = await openConsole({ ...world, sync: { ...world.sync, store: { ...world.sync.store, db } } })

  await using closed = await openConsole(world, { access: { find: () => Promise.reject(away) } })

  const answers = [broken, closed].map(({ url }) => createVisitor(url, 'ana.viewer').get('/'))

  for (const { status, text } of await Promise.all(answers)) {
    expect(status).toBe(503)
    expect(text).toContain('Rollcall is not available now')
    expect(text).not.toContain('10.1.2.3')
  }
  expect((await answers[0])?.text).toContain('href="/runs"')
})

test('a connection is tried now only while it is blocked', async () => {
  const ana = visitor('ana')
  const { db } = company.world.sync.store
  const at = '/connections/acme/unblock'
  await blockConnection(db, {
    connection: 'acme',
    status: 401,
    code: 'key_refused',
    reason: 'the platform does not accept the API key (401)',
    now: company.world.clock.now,
    probeAt: company.world.clock.now,
  })

  const blocked = await ana.get(at)
  await unblockConnection(db, 'acme')
  const free = await ana.get(at)

  expect([blocked.status, blocked.text.includes('<button class="main">Try it now')]).toEqual([200, true])
  expect([free.status, free.text.includes('Try it now')]).toEqual([409, false])
  expect(free.text).toMatch(/acme is not blocked/i)
})

/** The keys that lead to people, from top to bottom. */
function keysOn(text: string): string[] {
  return [...text.matchAll(/<a class="key" href="\/person[^"]*">([^<]*)<\/a>/g)].map(([, key = '']) => key)
}

/** The names that stand above keys, from top to bottom. */
function namesOn(text: string): string[] {
  return [...text.matchAll(/<span class="name">([^<]*)<\/span>/g)].map(([, name = '']) => name)
}

test('people of one role share a page, and whoever has just acted gets a new one', async () => {
  const [ana, ben] = [visitor('ana'), visitor('ben', 'viewer')]
  const paths = ['/', '/overview', '/schedules', '/runs', '/sources', '/events', '/problems/current']
  for (const path of paths) {
    const [hers, his] = [await ana.follow(path), await ben.follow(path)]
    const foreign = hers.text.match(/href="\/connections\/acme\/sync"/)
    expect([hers.status, his.status], path).toEqual([200, 200])
    if (foreign !== null) expect(his.text, path).not.toContain(foreign[0])
    expect(`${hers.text}${his.text}`, path).not.toMatch(/Ada|acme\.example/)
  }
  for (const path of ['/runs', '/runs/list']) await ana.follow(path)
  const token = { token: 'token of ana' }

  const response = await ana.post('/connections/acme/sync', { ...token, how: 'changes' })
  const runId = (response.location ?? '').split('/').at(-1) ?? ''
  const after = [await ana.follow('/runs'), await ana.follow('/runs/list')]
  const cancelled = await ana.post(`/runs/${runId}/cancellation`, token)

  expect([response.status, cancelled.status]).toEqual([303, 303])
  for (const { text } of after) expect(text).toContain(runId)
})
