import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../../src/contract/control/access.ts'
import { controlPrefix } from '../../../src/contract/control/control.ts'
import { tokenOperations } from '../../../src/contract/control/tokens.ts'
import { attemptsPerMinute, createAttempts } from '../../../src/daemon/access/attempts.ts'
import { admitByToken, createTokenCheck } from '../../../src/daemon/access/tokens.ts'
import { refusalOf } from '../../../src/daemon/control/refusals.ts'
import { tokenHandlers } from '../../../src/daemon/control/tokens.ts'
import { withPermissions } from '../../../src/daemon/control/with-permissions.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { mount } from '../../../src/http/server/mount.ts'
import { refusing } from '../../../src/http/server/refusing.ts'
import { hasToken } from '../../../src/store/access/tokens.ts'
import { prepareRestored } from '../../../src/store/backup/restored.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import type { SyncConnection, SyncContext } from '../../../src/sync/context/context.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { createPostgresDatabase, emptyTables } from '../../helpers/servers/databases.ts'

const stack = new AsyncDisposableStack()
const clock = { now: new Date('2026-11-20T10:00:00.000Z') }
const now = () => clock.now
const path = `${controlPrefix}/tokens`
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

type Context = { readonly caller: Caller; readonly sync: Pick<SyncContext, 'store' | 'now' | 'connections'> }

/** The tokens as they are served over TCP; `server.token` is "configured". */
async function open({ pushed = [] }: { readonly pushed?: readonly string[] } = {}) {
  const connections = new Map(pushed.map((name) => [name, { name, isPushed: true } as SyncConnection]))
  const reported: unknown[] = []
  const attempts = createAttempts(silentEvents((event) => reported.push(event)))
  const admit = admitByToken(createTokenCheck({ db: store.db, now, configured: 'configured' }), attempts)
  const app = await createApp()
  const handlers = refusing(withPermissions<typeof tokenOperations, Context>(tokenOperations, tokenHandlers), {
    refusalOf,
  })
  mount(app, tokenOperations, handlers, {
    prefix: controlPrefix,
    authorize: async (request) => ({ sync: { store, now, connections }, caller: await admit(request) }),
    validateResponses: true,
  })
  const ask = async (token: string, method: 'GET' | 'POST', url: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await app.inject({ method, url, headers, ...(body && { body }) })
    return { status: answer.statusCode, body: answer.json() }
  }
  return {
    reported,
    ask,
    make: async (body: object) => {
      const made = await ask('configured', 'POST', path, { name: 'ana', role: 'admin', ...body })
      expect(made.status).toBe(201)
      return String(made.body.token)
    },
    [Symbol.asyncDispose]: async () => {
      attempts[Symbol.dispose]()
      await app.close()
    },
  }
}

async function acts(): Promise<unknown[]> {
  const rows = await store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  return rows.map(({ entry }) => JSON.parse(entry))
}

describe('a token', () => {
  test('lets its holder in with its role, under its name, and is stored nowhere', async () => {
    await using opened = await open()

    const token = await opened.make({ name: 'ana', role: 'viewer' })
    const admin = await opened.make({ name: 'ben', role: 'admin' })
    const refused = await opened.ask(token, 'GET', path)
    await opened.ask(admin, 'POST', `${path}/ana/revocation`, {})
    const listed = await opened.ask(admin, 'GET', path)
    const stored = JSON.stringify([
      await store.db.selectFrom('access_tokens').selectAll().execute(),
      await acts(),
      listed.body,
    ])

    expect(token).toMatch(/^rct_[0-9a-f]{72}$/)
    expect(refused).toMatchObject({
      status: 403,
      body: { message: 'this needs the role admin, and ana has the role viewer' },
    })
    expect(listed.body.data).toMatchObject([
      { name: 'ana', state: 'revoked', revokedBy: 'ben', createdBy: 'server.token' },
      { name: 'ben', state: 'active', lastUsedAt: clock.now.toISOString() },
    ])
    expect(stored).not.toContain(token.slice(4, 40))
  })

  test('states its last use by a clock that was set back', async () => {
    await using opened = await open()
    const made = await opened.ask('configured', 'POST', path, { name: 'ana', role: 'admin' })
    clock.now = new Date('2036-01-01T00:00:00.000Z')
    await opened.ask(String(made.body.token), 'GET', path)
    clock.now = new Date('2026-11-20T11:00:00.000Z')
    await opened.ask(String(made.body.token), 'GET', path)

    const listed = await opened.ask('configured', 'GET', path)

    expect(listed.body.data).toMatchObject([{ name: 'ana', lastUsedAt: '2026-11-20T11:00:00.000Z' }])
  })

  test('of a connection that is pushed opens nothing else', async () => {
    await using opened = await open({ pushed: ['hr'] })

    const made = await opened.ask('configured', 'POST', path, { name: 'Okta', role: 'scim', connection: 'hr' })
    const answer = await opened.ask(String(made.body.token), 'GET', path)
    const listed = await opened.ask('configured', 'GET', path)

    expect(made).toMatchObject({ status: 201, body: { role: 'scim', connection: 'hr' } })
    expect(answer).toMatchObject({ status: 401, body: { message: expect.stringContaining('rollcall token create') } })
    expect(listed.body.data).toMatchObject([{ name: 'Okta', role: 'scim', connection: 'hr', lastUsedAt: null }])
    expect(await acts()).toMatchObject([{ act: 'token.created', connection: 'hr' }])
    expect(await hasToken(store.db, now())).toBe(false)
  })

  test.each([
    [{ role: 'scim' }, 'name a connection with a source of type scim; the configuration has: hr'],
    [{ role: 'scim', connection: 'other' }, 'the configuration has: hr'],
    [{ role: 'viewer', connection: 'hr' }, 'only a token with the role scim belongs to a connection'],
  ])('of SCIM is not made by %j', async (body, message) => {
    await using opened = await open({ pushed: ['hr'] })

    const answer = await opened.ask('configured', 'POST', path, { name: 'Okta', ...body })

    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(message) } })
  })

  test('lets no one in once it has expired or is revoked, and says so', async () => {
    await using opened = await open()
    const short = await opened.make({ name: 'short', expiresAt: '2026-11-20T11:00:00.000Z' })
    const gone = await opened.make({ name: 'gone' })

    const before = [await opened.ask(short, 'GET', path), await opened.ask(gone, 'GET', path)]
    await opened.ask(gone, 'POST', `${path}/GONE/revocation`, {})
    clock.now = new Date('2026-11-20T11:00:00.000Z')
    const after = [await opened.ask(short, 'GET', path), await opened.ask(gone, 'GET', path)]

    expect(before.map(({ status }) => status)).toEqual([200, 200])
    expect(after.map(({ status, body }) => [status, body.message])).toEqual([
      [401, 'this token has expired: ask an admin for a new one'],
      [401, 'this token was revoked: ask an admin for a new one'],
    ])
    expect(opened.reported).toMatchObject([{ reason: 'expired token' }, { reason: 'revoked token' }])
  })

  test.each([
    ['cut', (token: string) => token.slice(0, -1)],
    ['with one sign changed', (token: string) => token.replace(/.$/, (last) => (last === '0' ? '1' : '0'))],
    ['forged with a right checksum', () => `rct_${'0'.repeat(64)}34b1e4cb`],
    ['empty', () => ''],
    ['of SQL', () => "' or true --"],
  ])('that is %s lets no one in', async (_what, forged) => {
    await using opened = await open()
    const token = await opened.make({})

    const answer = await opened.ask(forged(token), 'GET', path)

    expect(answer).toMatchObject({ status: 401, body: { message: expect.stringContaining('rollcall token create') } })
  })

  test('cannot be guessed: an address that sends twenty wrong ones has to wait, even with a right one', async () => {
    await using opened = await open()
    const token = await opened.make({})
    const statuses = new Set<number>()

    for (let guess = 0; guess < attemptsPerMinute; guess++)
      statuses.add((await opened.ask(`guess-${guess}`, 'GET', path)).status)

    expect(statuses).toEqual(new Set([401]))
    expect(await opened.ask(token, 'GET', path)).toMatchObject({ status: 429 })
  })

  test.each([
    ['of a name that is taken', { name: 'ANA' }, 409, 'there is a token "ANA" already'],
    ['that has expired already', { name: 'b', expiresAt: '2026-11-20T09:00:00.000Z' }, 400, 'is over already'],
    ['by the name of a part of Rollcall', { name: 'Server.Token' }, 400, 'a part of Rollcall'],
    ['with a name that cannot be read', { name: 'a\u202eb' }, 400, 'cannot be seen'],
    ['with a role that there is not', { name: 'b', role: 'root' }, 400, 'role'],
    ['in the name of another person', { name: 'b', by: 'ben' }, 400, 'the caller is server.token'],
  ])('is not made %s', async (_what, body, status, message) => {
    await using opened = await open()
    await opened.make({ name: 'ana' })

    const answer = await opened.ask('configured', 'POST', path, { role: 'viewer', ...body })

    expect(answer).toMatchObject({ status, body: { message: expect.stringContaining(message) } })
    expect(await opened.ask('configured', 'POST', `${path}/nobody/revocation`, {})).toMatchObject({ status: 404 })
  })

  test('can be made again under the name of one that was revoked', async () => {
    await using opened = await open()
    const first = await opened.make({ name: 'ana' })
    await opened.ask('configured', 'POST', `${path}/ana/revocation`, {})

    const second = await opened.make({ name: 'ana' })

    expect((await opened.ask(first, 'GET', path)).status).toBe(401)
    expect((await opened.ask(second, 'GET', path)).status).toBe(200)
  })

  test('is recorded in the audit trail when it is made and when it ends', async () => {
    await using opened = await open()
    await opened.make({ name: 'ana', role: 'approver', expiresAt: '2027-01-31T00:00:00.000Z' })
    await opened.ask('configured', 'POST', `${path}/ana/revocation`, {})

    const details = { name: 'ana', role: 'approver', expiresAt: '2027-01-31T00:00:00.000Z' }
    expect(await acts()).toMatchObject([
      { act: 'token.created', by: 'server.token', details },
      { act: 'token.revoked', by: 'server.token', details: { name: 'ana', sessions: 0 } },
    ])
  })

  test('lets no one in after a restore, because the backup may be older than its revocation', async () => {
    await using opened = await open()
    const token = await opened.make({})

    await store.db.transaction().execute((tx) => prepareRestored(tx, { until: clock.now, now: clock.now }))

    expect(await opened.ask(token, 'GET', path)).toMatchObject({ status: 401 })
  })
})
