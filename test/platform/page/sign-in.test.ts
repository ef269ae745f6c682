import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresDatabase, databases } from '../../helpers/servers/databases.ts'
import { newVisitor, password, signedIn } from '../helpers/page-visitors.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const halfDayMs = 12 * 60 * 60 * 1000

describe.each(databases)('signing in to the Personnel page on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    await opened.newAccount()
    await opened.operator.createOperator({ body: { name: 'ana', account: null, password } })
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('every page requires it', async () => {
    const stranger = newVisitor(opened)

    const answers = [
      await stranger.get('/personnel'),
      await stranger.get('/personnel/reset-all?account=1'),
      await stranger.post('/personnel/sync', { account: 1 }),
      await stranger.post('/personnel/reset', { account: 1, person: 1 }),
      await stranger.post('/personnel/reset-all', { account: 1 }),
    ]

    for (const { status, location } of answers) expect([status, location]).toEqual([303, '/personnel/sign-in'])
    expect(await opened.platform.database.db.selectFrom('identity_sync_attempts').selectAll().execute()).toEqual([])
  })

  test('the right password opens the page, and signing out closes it', async () => {
    const visitor = newVisitor(opened)

    const opening = await visitor.signIn('ana')
    const page = await visitor.get('/personnel')
    const kept = new Map(visitor.cookies)
    const closing = await visitor.submit('/personnel/sign-out', {})
    for (const [name, value] of kept) visitor.cookies.set(name, value)

    expect([opening.status, opening.location, page.status]).toEqual([303, '/personnel', 200])
    expect(page.text).toContain('Signed in as <strong>ana</strong>')
    expect(closing.location).toBe('/personnel/sign-in')
    expect((await visitor.get('/personnel')).status).toBe(303)
  })

  test.each(['/.//evil.example', '//evil.example', '/%2e//evil.example', 'https://evil.example/', '/\\evil.example'])(
    'leads to the page and never to %s',
    async (to) => {
      const visitor = newVisitor(opened)
      await visitor.get(`/personnel/sign-in?to=${encodeURIComponent(to)}&back=${encodeURIComponent(to)}`)

      const opening = await visitor.submit(
        '/personnel/sign-in',
        { name: 'ana', password, to, back: to },
        '/personnel/sign-in',
      )
      const sync = await visitor.submit('/personnel/sync', { account: 1, to, back: to })

      expect([opening.status, opening.location]).toEqual([303, '/personnel'])
      expect([sync.status, sync.location]).toEqual([303, '/personnel?account=1&watch=1'])
    },
  )

  test('its form always gets a new cookie', async () => {
    const visitor = newVisitor(opened)
    visitor.cookies.set('rollcall_sign_in', 'chosen')

    await visitor.get('/personnel/sign-in')

    expect(visitor.cookies.get('rollcall_sign_in')).toMatch(/^[\w-]{43}$/)
  })

  test('its cookie is for the page and its server alone, and stored as a hash', async () => {
    const visitor = newVisitor(opened)
    const { headers } = await visitor.signIn('ana')

    const [line = ''] = headers.getSetCookie().filter((cookie) => cookie.startsWith('rollcall_personnel='))
    const stored = await opened.platform.database.db.selectFrom('operator_sessions').selectAll().execute()

    expect(line).toMatch(/^rollcall_personnel=[\w-]{43}; Max-Age=43200; Path=\/personnel; HttpOnly; SameSite=Strict$/)
    expect(stored.map(({ hash }) => hash)).toContainEqual(expect.stringMatching(/^[0-9a-f]{64}$/))
    expect(JSON.stringify(stored)).not.toContain(visitor.cookies.get('rollcall_personnel'))
  })

  test.each([
    ['a wrong password', 'ana', 'wrong horse battery'],
    ['an unknown name', 'nobody at all', password],
    ['a name that cannot be stored', 'ana\0', password],
    ['nothing', '', ''],
  ])('%s is refused in the same words', async (_what, name, secret) => {
    const visitor = newVisitor(opened)

    const { status, text } = await visitor.signIn(name, secret)

    expect(status).toBe(401)
    expect(text).toContain('The name or the password is wrong.')
    expect(visitor.cookies.has('rollcall_personnel')).toBe(false)
  })

  test('passwords that look alike are alike', async () => {
    await opened.operator.createOperator({ body: { name: 'bo', account: null, password: 'caf\u00e9 at the corner' } })

    expect((await newVisitor(opened).signIn('bo', 'cafe\u0301 at the corner')).status).toBe(303)
  })

  test('a form without its token, or with that of another visitor, is refused', async () => {
    const [ana, other] = [await signedIn(opened), await signedIn(opened)]
    const stranger = newVisitor(opened)
    const foreign = await other.tokenOn('/personnel')

    const answers = [
      await ana.post('/personnel/sync', { account: 1 }),
      await ana.post('/personnel/sync', { account: 1, token: foreign }),
      await ana.post('/personnel/reset', { account: 1, person: 1, token: '' }),
      await ana.post('/personnel/reset-all', { account: 1, token: `${foreign}x` }),
      await ana.post('/personnel/sign-out', {}),
      await stranger.post('/personnel/sign-in', { name: 'ana', password }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403])
    expect((await ana.get('/personnel')).status).toBe(200)
  })

  test('a session that began by a clock that was a day ahead ends when the clock is set back', async () => {
    opened.clock.advance(2 * halfDayMs)
    const ana = await signedIn(opened)
    const before = await ana.get('/personnel')

    opened.clock.advance(-2 * halfDayMs)
    const after = await ana.get('/personnel')

    expect([before.status, after.status]).toEqual([200, 303])
  })

  test('a session ends after half a day', async () => {
    const ana = await signedIn(opened)
    opened.clock.advance(halfDayMs - 1)
    const before = await ana.get('/personnel')
    opened.clock.advance(1)

    const after = await ana.get('/personnel')

    expect([before.status, after.status]).toEqual([200, 303])
  })

  test('a new password and the removal of an operator end their sessions at once', async () => {
    const [changed, removed, stays] = [await signedIn(opened), await signedIn(opened), await signedIn(opened)]

    await opened.operator.setOperatorPassword({
      params: { operatorName: changed.name },
      body: { password: 'another horse battery' },
    })
    await opened.operator.removeOperator({ params: { operatorName: removed.name } })

    const answers = [await changed.get('/personnel'), await removed.get('/personnel'), await stays.get('/personnel')]
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 200])
    expect((await changed.signIn(changed.name)).status).toBe(401)
    expect((await changed.signIn(changed.name, 'another horse battery')).status).toBe(303)
  })

  test('five wrong passwords for a name block that name at that address for a while, and no other', async () => {
    await opened.operator.createOperator({ body: { name: 'guessed', account: null, password } })
    const visitor = newVisitor(opened)
    for (let attempt = 0; attempt < 5; attempt += 1) await visitor.signIn('guessed', 'wrong horse battery')

    const refused = await visitor.signIn('guessed')
    const other = await newVisitor(opened).signIn('ana')

    expect([refused.status, other.status]).toEqual([429, 303])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.text).toMatch(/Too many attempts\. Try again in 1[45] minutes\./)
  })
})

test('every answer of the page keeps strangers out: no scripts, no frames, no copies', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const visitor = newVisitor(opened)

  const answers = [
    await visitor.get('/personnel/sign-in'),
    await visitor.get('/personnel'),
    await visitor.get('/personnel/nothing'),
    await visitor.post('/personnel/sign-in', {}),
  ]

  expect(answers.map(({ status }) => status)).toEqual([200, 303, 404, 403])
  for (const { headers } of answers) {
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual(['no-store', 'nosniff'])
    expect([headers.get('referrer-policy'), headers.get('x-frame-options')]).toEqual(['same-origin', 'DENY'])
  }
})

test('behind HTTPS the cookies travel over HTTPS only', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase, { isBehindHttps: true })
  await opened.operator.createOperator({ body: { name: 'ana', account: null, password } })

  const { headers } = await newVisitor(opened).signIn('ana')

  for (const line of headers.getSetCookie()) expect(line).toContain('; Secure')
})

test('the page takes forms of a modest size and nothing else, and the interfaces beside it take none', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const visitor = newVisitor(opened)
  const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }

  const answers = [
    await visitor.ask('/personnel/sign-in', json),
    await visitor.post('/personnel/sign-in', { name: 'x'.repeat(20_000) }),
    await visitor.post('/public/v2/custom-connections', { name: 'x' }),
  ]

  expect(answers.map(({ status }) => status)).toEqual([415, 413, 401])
  expect(answers[0]?.headers.get('content-type')).toBe('text/html; charset=utf-8')
})
