import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Role } from '../../../src/contract/control/access.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { createToken, revokeToken } from '../../../src/store/access/tokens.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { createPostgresDatabase, emptyTables } from '../../helpers/servers/databases.ts'
import { type ConsoleOptions, openConsole } from './console.ts'

const minuteMs = 60_000
const stack = new AsyncDisposableStack()
const clock = { now: new Date() }
let store: Database<StoreSchema>
beforeAll(async () => {
  store = stack.use(
    await openDatabase<StoreSchema>({
      at: stack.use(await createPostgresDatabase()).at,
      schemas: ['rollcall'],
      migrations,
    }),
  )
})
beforeEach(async () => {
  clock.now = new Date('2026-11-20T10:00:00.000Z')
  await emptyTables(store, 'rollcall')
})
afterAll(() => stack.disposeAsync())

const open = (options: Partial<ConsoleOptions> = {}) => openConsole({ db: store.db, now: () => clock.now, ...options })
const later = (minutes: number) => {
  clock.now = new Date(clock.now.getTime() + minutes * minuteMs)
}

async function make(name = 'ana', role: Role = 'operator', expiresAt: Date | null = null): Promise<string> {
  const desired = { name, role, expiresAt, by: 'test', now: clock.now }
  return (await store.db.transaction().execute((tx) => createToken(tx, desired))).text
}

async function acts(): Promise<readonly Record<string, unknown>[]> {
  const rows = await store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  return rows.map(({ entry }) => JSON.parse(entry))
}

describe('signing in to the console', () => {
  test('takes a token and leads to the page that the person requested, and signing out ends the session for good', async () => {
    await using opened = await open()
    const visitor = opened.visitor()
    const token = await make()

    const before = await visitor.get('/')
    const signedIn = await visitor.signIn(token, { to: '/runs?state=held' })
    const who = await visitor.who()
    const kept = new Map(visitor.cookies)
    const out = await visitor.signOut()
    const page = await visitor.get(String(out.location))
    for (const [name, value] of kept) visitor.cookies.set(name, value)

    expect([before.status, before.location]).toEqual([303, '/sign-in'])
    expect([signedIn.status, signedIn.location]).toEqual([303, '/runs?state=held'])
    expect(who).toMatchObject({ name: 'ana', role: 'operator', via: 'sign-in', principal: 'token:ana' })
    expect(out.status).toBe(303)
    expect(page.text).toContain('You are signed out.')
    // Sends the former cookie again.
    expect(await visitor.who()).toBeNull()
    expect(await acts()).toMatchObject([
      { act: 'token.created' },
      { act: 'session.began', by: 'ana', details: { how: 'token', role: 'operator', principal: 'token:ana' } },
      { act: 'session.ended', by: 'ana', details: { principal: 'token:ana' } },
    ])
  })

  test('hides its cookie from scripts and other sites, stores a digest of it, and makes a new cookie each time', async () => {
    await using opened = await open()
    const visitor = opened.visitor()
    const token = await make()

    await visitor.signIn(token)
    const first = visitor.cookies.get('rollcall') ?? ''
    await visitor.signOut()
    await visitor.signIn(token)
    const second = visitor.cookies.get('rollcall') ?? ''
    const stored = await store.db.selectFrom('access_sessions').selectAll().execute()

    const [line] = visitor.lines.filter((one) => one.startsWith('rollcall='))
    expect(line).toMatch(/^rollcall=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(second).not.toBe(first)
    expect(stored).toHaveLength(1)
    expect(JSON.stringify(stored)).not.toContain(second)
  })

  test('is extended while a person uses the console, but not by requests that an open page sends by itself', async () => {
    await using opened = await open()
    const [person, page] = [opened.visitor(), opened.visitor()]
    const token = await make()
    await person.signIn(token)
    await page.signIn(token)

    for (let times = 0; times < 3; times += 1) {
      later(25)
      await person.who()
      await page.get('/part')
    }

    expect(await person.who()).toMatchObject({ name: 'ana' })
    expect(JSON.parse((await page.get('/part')).text)).toEqual({ isKnown: false })
  })

  test('uses cookies that are limited to this host and to HTTPS if people come by HTTPS', async () => {
    await using opened = await open({ publicUrl: new URL('https://rollcall.test') })
    const visitor = opened.visitor()

    await visitor.signIn(await make())

    const set = visitor.lines.filter((line) => !/^[^=]+=;/.test(line))
    expect(set).toHaveLength(2)
    for (const line of set)
      expect(line).toMatch(/^__Host-rollcall\w*=[\w-]{43};.* Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    expect(await visitor.who()).toMatchObject({ name: 'ana' })
  })

  test.each([
    ['unknown', async () => 'no-token', 'This token is not known here.'],
    ['expired', () => make('old', 'viewer', new Date('2026-11-20T10:00:00.000Z')), 'This token has expired.'],
    ['empty', async () => '', 'This token is not known here.'],
  ])('with a token that is %s says so, and signs no one in', async (_what, token, sentence) => {
    await using opened = await open({ configured: 'configured-token' })
    const visitor = opened.visitor()

    const { status, text } = await visitor.signIn(await token())

    expect(status).toBe(401)
    expect(text).toContain(sentence)
    expect(await visitor.who()).toBeNull()
    expect(opened.reported).toMatchObject([{ event: 'control.refused' }])
  })

  test('allows twenty attempts a minute from one address, over all ways together', async () => {
    await using opened = await open()
    const token = await make()
    const statuses = new Set<number>()

    for (let guess = 0; guess < 20; guess++) statuses.add((await opened.visitor().signIn(`guess-${guess}`)).status)
    const { status, headers, text } = await opened.visitor().signIn(token)

    expect(statuses).toEqual(new Set([401]))
    expect([status, Number(headers['retry-after']) > 0]).toEqual([429, true])
    expect(text).toContain('Too many attempts from this address.')
  })

  test('says how to make the first token while there is none', async () => {
    await using opened = await open()
    const visitor = opened.visitor()

    const before = await visitor.get('/sign-in')
    await make('ana', 'viewer')
    const after = await visitor.get('/sign-in')

    expect(before.text).toContain('Nobody can sign in yet.')
    expect(before.text).toContain('rollcall token create --name "Your name" --role admin')
    expect(after.text).not.toContain('Nobody can sign in yet.')
  })

  test.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/\\/evil.example',
    '\\/evil.example',
    '/.//evil.example/',
    '/./\\evil.example',
    '/..//evil.example',
    '/%2e//evil.example',
    '/%2E%2e//evil.example',
    '/runs/..//evil.example',
    '/runs/%2e%2e/\\evil.example',
    '/\t/evil.example',
    '/.\t//evil.example',
    '/\n.//evil.example',
    ' //evil.example',
    '//evil.example\\@rollcall.test',
    'http:evil.example',
    'rollcall.invalid/runs',
    'javascript:alert(1)',
    '/sign-out',
    '/sign-in?to=/',
  ])('does not lead to %s', async (to) => {
    await using opened = await open()

    const { status, location } = await opened.visitor().signIn(await make(), { to })

    expect([status, location]).toEqual([303, '/'])
  })
})

test('signing in leads to a path of this site, also if slashes are encoded in it', async () => {
  await using opened = await open()

  const locations = await Promise.all(
    ['/runs?status=held&page=2', '/runs/%2F%2Fevil.example', '/%5Cevil.example', '/runs/./a'].map(async (to) => {
      const { location } = await opened.visitor().signIn(await make(`who ${to}`), { to })
      return location
    }),
  )

  expect(locations).toEqual(['/runs?status=held&page=2', '/runs/%2F%2Fevil.example', '/%5Cevil.example', '/runs/a'])
})

test('the sign-in form never reuses a cookie that came with the request', async () => {
  await using opened = await open()

  const visitor = opened.visitor()
  visitor.cookies.set('rollcall_sign_in', 'chosen')

  await visitor.get('/sign-in')

  expect(visitor.cookies.get('rollcall_sign_in')).toMatch(/^[\w-]{43}$/)
})

describe('a session of the console ends', () => {
  test('after an hour without use, and after half a day at the latest', async () => {
    await using opened = await open()
    const [idle, busy] = [opened.visitor(), opened.visitor()]
    const token = await make()
    await idle.signIn(token)
    await busy.signIn(token)

    const observed: [busy: boolean, idle: boolean][] = []
    for (const minutes of [59, 2, ...Array<number>(12).fill(59)]) {
      later(minutes)
      observed.push([(await busy.who()) !== null, minutes === 2 && (await idle.who()) !== null])
    }

    expect(observed).toEqual([...Array<[boolean, boolean]>(13).fill([true, false]), [false, false]])
  })

  test('if the clock was ahead when it began and has been set back since', async () => {
    await using opened = await open()
    const visitor = opened.visitor()
    later(365 * 24 * 60)
    await visitor.signIn(await make())
    const before = await visitor.who()

    later(-365 * 24 * 60)

    expect(before).not.toBeNull()
    expect(await visitor.who()).toBeNull()
  })

  test('not while it is used, even if the allowed idle time is one minute', async () => {
    await using opened = await open({ idleMinutes: 1 })
    const visitor = opened.visitor()
    await visitor.signIn(await make())

    const observed: boolean[] = []
    for (const minutes of [0.5, 0.5, 0.9, 1.1]) {
      later(minutes)
      observed.push((await visitor.who()) !== null)
    }

    expect(observed).toEqual([true, true, true, false])
  })

  test('when its token is revoked, and when its token expires', async () => {
    await using opened = await open()
    const [one, two] = [opened.visitor(), opened.visitor()]
    await one.signIn(await make('revoked'))
    await two.signIn(await make('short', 'viewer', new Date(clock.now.getTime() + 10 * minuteMs)))
    const before = [await one.who(), await two.who()]

    const revoked = await store.db
      .transaction()
      .execute((tx) => revokeToken(tx, { name: 'revoked', by: 'ben', now: clock.now }))
    later(11)

    expect(before).not.toContain(null)
    expect(revoked.sessions).toBe(1)
    expect([await one.who(), await two.who()]).toEqual([null, null])
  })

  test('if its token was revoked while the session began', async () => {
    await using opened = await open()
    const visitor = opened.visitor()
    await visitor.signIn(await make())

    await store.db.updateTable('access_tokens').set({ revoked_at: clock.now }).execute()

    expect(await visitor.who()).toBeNull()
  })

  test('when server.token is no longer configured', async () => {
    await using first = await open({ configured: 'configured-token' })
    const visitor = first.visitor()
    await visitor.signIn('configured-token')
    const who = await visitor.who()
    await using second = await open()
    const again = second.visitor()
    for (const [name, value] of visitor.cookies) again.cookies.set(name, value)

    expect(who).toMatchObject({ name: 'server.token', role: 'admin' })
    expect(await again.who()).toBeNull()
  })
})

describe('a form of the console', () => {
  test('is refused without its token, or with the token of another visitor', async () => {
    await using opened = await open()
    const [ana, ben] = [opened.visitor(), opened.visitor()]
    const token = await make()
    await ana.signIn(token)
    await ben.signIn(token)
    const { formToken: bens = '' } = (await ben.who()) ?? {}

    const out = [
      await ana.post('/sign-out', {}),
      await ana.post('/sign-out', { token: bens }),
      await opened.visitor().signIn(token, { token: bens }),
      await opened.visitor().post('/sign-in', { access: token, to: '/' }),
    ]

    expect(out.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    expect(await ana.who()).not.toBeNull()
  })

  test('belongs to no one if its cookie was forged or changed', async () => {
    await using opened = await open()
    const visitor = opened.visitor()
    await visitor.signIn(await make())
    const right = visitor.cookies.get('rollcall') ?? ''

    const observed = []
    for (const forged of [
      right.slice(0, -1),
      `${right}A`,
      right.toLowerCase(),
      'A'.repeat(43),
      "' or true --",
      '%00',
    ]) {
      visitor.cookies.set('rollcall', forged)
      observed.push(await visitor.who())
    }

    expect(new Set(observed)).toEqual(new Set([null]))
  })
})
