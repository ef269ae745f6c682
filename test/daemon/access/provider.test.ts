import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAttempts } from '../../../src/daemon/access/attempts.ts'
import { openProvider } from '../../../src/daemon/access/provider.ts'
import { Secret } from '../../../src/daemon/config/secret.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { createPostgresDatabase, emptyTables } from '../../helpers/servers/databases.ts'
import { openConsole } from './console.ts'
import { startLyingProvider } from './identity-provider.ts'

const publicUrl = new URL('http://rollcall.test')
const client = { id: 'rollcall', secret: 'the-secret-of-the-client' }
const roles = { 'hr-ops': 'operator', 'hr-leads': 'approver', everyone: 'viewer' } as const
const stack = new AsyncDisposableStack()
const clock = { now: new Date() }
let store: Database<StoreSchema>
let lying: Awaited<ReturnType<typeof startLyingProvider>>
beforeAll(async () => {
  const { at } = stack.use(await createPostgresDatabase())
  store = stack.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
  lying = stack.use(await startLyingProvider({ clientId: client.id }))
})
beforeEach(async () => {
  clock.now = new Date()
  lying.lie({})
  lying.is({ sub: 'u1', email: 'ana@acme.example', groups: ['everyone', 'hr-leads'] })
  await emptyTables(store, 'rollcall')
})
afterAll(() => stack.disposeAsync())

/** A console whose visitors can sign in by the provider. Log events are in `told`. */
async function open(issuer: string) {
  const opening = new AsyncDisposableStack()
  const reported: unknown[] = []
  const now = () => clock.now
  const attempts = opening.use(createAttempts(silentEvents((event) => reported.push(event))))
  const settings = {
    name: 'Acme',
    issuer: new URL(issuer),
    clientId: client.id,
    clientSecret: new Secret([{ text: client.secret }]),
    scopes: ['openid', 'profile', 'email'],
    rolesFrom: 'groups',
    roles,
  }
  const provider = (...args: Parameters<NonNullable<Parameters<typeof openConsole>[0]['provider']>>) =>
    openProvider({ settings, publicUrl, attempts, now }, ...args)
  const opened = opening.use(await openConsole({ db: store.db, now, publicUrl, provider }))
  return { ...opened, reported, [Symbol.asyncDispose]: () => opening.disposeAsync() }
}

type Opened = Awaited<ReturnType<typeof open>>

/** Goes to the provider and comes back from it. */
async function signIn({ visitor }: Opened, change: (back: URL) => void = () => {}) {
  const person = visitor()
  const begun = await person.get('/sign-in/provider?to=/runs')
  const back = lying.letIn(String(begun.location))
  change(back)
  const ended = await person.get(`${back.pathname}${back.search}`)
  return { person, begun, ended, back }
}

describe('signing in by OpenID Connect', () => {
  test('gives the highest role of the groups, and leads to the page that the person requested', async () => {
    await using opened = await open(lying.issuer)

    const { person, begun, ended } = await signIn(opened)
    const page = await opened.visitor().get('/sign-in?to=/runs')
    const acts = await store.db.selectFrom('audit_pending').select('entry').execute()

    const query = new URL(String(begun.location)).searchParams
    expect(query.get('redirect_uri')).toBe('http://rollcall.test/sign-in/callback')
    expect([query.get('code_challenge_method'), query.get('scope')]).toEqual(['S256', 'openid profile email'])
    expect([ended.status, ended.location]).toEqual([303, '/runs'])
    expect(await person.who()).toMatchObject({
      name: 'ana@acme.example',
      role: 'approver',
      via: 'sign-in',
      principal: `oidc:${lying.issuer}/#u1`,
    })
    expect(page.text).toContain('<a class="button main" href="/sign-in/provider?to=%2Fruns">Sign in with Acme</a>')
    expect(acts.map(({ entry }) => JSON.parse(entry))).toMatchObject([
      { act: 'session.began', by: 'ana@acme.example', details: { how: 'OpenID Connect', role: 'approver' } },
    ])
  })

  test.each(['/.//evil.example', '/%2e//evil.example', '/runs/..//evil.example', '//evil.example', '/\\evil.example'])(
    'does not lead to %s',
    async (to) => {
      await using opened = await open(lying.issuer)
      const person = opened.visitor()
      const begun = await person.get(`/sign-in/provider?to=${encodeURIComponent(to)}`)
      const back = lying.letIn(String(begun.location))

      const ended = await person.get(`${back.pathname}${back.search}`)

      expect([ended.status, ended.location]).toEqual([303, '/'])
    },
  )

  test.each([
    ['nonce', { claims: { nonce: 'another' } }, 'nonce'],
    ['issuer', { claims: { iss: 'https://evil.example' } }, 'iss'],
    ['audience', { claims: { aud: 'another-client' } }, 'aud'],
    ['time', { claims: { exp: Math.floor(Date.now() / 1000) - 3600 } }, 'exp'],
    ['signature', { forged: true }, 'OAUTH_'],
  ])('with a wrong %s signs no one in', async (_what, lies, reason) => {
    await using opened = await open(lying.issuer)
    lying.lie(lies)

    const { person, ended } = await signIn(opened)

    expect(ended.status).toBe(401)
    expect(ended.text).toContain('does not prove who you are')
    expect(await person.who()).toBeNull()
    expect(opened.reported).toMatchObject([{ event: 'control.refused', reason: expect.stringContaining(reason) }])
    expect(JSON.stringify(opened.reported)).not.toMatch(/evil|another/)
  })

  test.each([
    ['state', (back: URL) => back.searchParams.set('state', 'another'), 401],
    ['answer of the provider', (back: URL) => back.searchParams.set('error', 'access_denied'), 403],
    ['code', (back: URL) => back.searchParams.set('code', 'another'), 401],
  ])('with another %s signs no one in', async (_what, change, status) => {
    await using opened = await open(lying.issuer)

    const { person, ended } = await signIn(opened, change)

    expect([ended.status, await person.who()]).toEqual([status, null])
  })

  test('can be finished only by the browser that began it, only once, and only within ten minutes', async () => {
    await using opened = await open(lying.issuer)
    const { person, back } = await signIn(opened)
    const again = await person.get(`${back.pathname}${back.search}`)
    const other = await signIn(opened, () => {})
    const stranger = await opened.visitor().get(`${other.back.pathname}${other.back.search}`)
    const late = await signIn(opened, () => {
      clock.now = new Date(clock.now.getTime() + 11 * 60_000)
    })

    for (const { status, text } of [again, stranger, late.ended])
      expect([status, text.includes('was not begun in this browser')]).toEqual([400, true])
  })

  test.each([
    ['no group', {}],
    ['groups without a role', { groups: ['sales', 'toString'] }],
    ['groups that are none', { groups: { 'hr-leads': true } }],
  ])('says so to a person with %s', async (_what, claims) => {
    await using opened = await open(lying.issuer)
    lying.is({ sub: 'u2', email: 'ben@acme.example', ...claims })

    const { person, ended } = await signIn(opened)

    expect(ended.status).toBe(403)
    expect(ended.text).toContain('You are ben@acme.example, and none of your groups has a role here.')
    expect(await person.who()).toBeNull()
  })

  test.each([
    ['an address that was not checked', { email: 'ceo@acme.example', email_verified: false, name: 'Ben' }, 'Ben'],
    ['the name of a part of Rollcall', { preferred_username: 'Rollcall' }, 'u1'],
    ['signs that cannot be seen', { preferred_username: 'ana\u202e' }, 'ana\\u202e'],
  ])('does not record a person by %s', async (_what, claims, name) => {
    await using opened = await open(lying.issuer)
    lying.is({ groups: 'hr-ops', ...claims })

    const { person } = await signIn(opened)

    expect(await person.who()).toMatchObject({ name, role: 'operator' })
  })

  test('says that the provider cannot be reached, and works again once it can', async () => {
    await using opened = await open(lying.issuer)
    lying.lie({ broken: true })
    const away = await opened.visitor().get('/sign-in/provider')
    await using nowhere = await open('http://127.0.0.1:9')
    const refused = await nowhere.visitor().get('/sign-in/provider')
    lying.lie({})
    const { person } = await signIn(opened)

    for (const { status, text } of [away, refused])
      expect([status, text.includes('cannot be reached now')]).toEqual([503, true])
    expect(await person.who()).not.toBeNull()
  })

  test('works with an independent provider', async () => {
    await using provider = await startRealProvider()
    await using opened = await open(provider.issuer)
    const person = opened.visitor()

    const begun = await person.get('/sign-in/provider?to=/runs')
    const back = await provider.letIn(String(begun.location), 'ana')
    const ended = await person.get(`${back.pathname}${back.search}`)

    expect([ended.status, ended.location]).toEqual([303, '/runs'])
    expect(await person.who()).toMatchObject({ name: 'ana@acme.example', role: 'operator' })
  })
})

/** The provider of the package oidc-provider, with its pages for development. It returns groups with the user information. */
async function startRealProvider() {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const configuration: Configuration = {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: ['http://rollcall.test/sign-in/callback'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@acme.example`, email_verified: true, groups: ['hr-ops'] }),
    }),
  }
  server.on('request', new Provider(issuer, configuration).callback())
  return {
    issuer,
    /** Signs in at the provider's pages, and agrees. */
    async letIn(authorization: string, login: string): Promise<URL> {
      const cookies = new Map<string, string>()
      let url = new URL(authorization)
      let form: string | null = null
      while (url.host === new URL(issuer).host) {
        const answer: Response = await fetch(url, {
          redirect: 'manual',
          method: form === null ? 'GET' : 'POST',
          headers: {
            cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
            ...(form !== null && { 'content-type': 'application/x-www-form-urlencoded' }),
          },
          body: form,
        })
        for (const line of answer.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          if (value === '') cookies.delete(name)
          else cookies.set(name, value)
        }
        const text = await answer.text()
        const location = answer.headers.get('location')
        const [, prompt] = /name="prompt" value="(\w+)"/.exec(text) ?? []
        if (location === null && prompt === undefined)
          throw new Error(`the provider answered ${answer.status}: ${text}`)
        form = location === null ? `prompt=${prompt}&login=${login}&password=x` : null
        url = location === null ? url : new URL(location, url)
      }
      return url
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
