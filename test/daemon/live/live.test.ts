import { once } from 'node:events'
import { createConnection } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { machineCaller } from '../../../src/contract/control/access.ts'
import { LiveEvent } from '../../../src/contract/control/live.ts'
import { type Listener, type Live, startLive } from '../../../src/daemon/live/live.ts'
import { serveLive } from '../../../src/daemon/live/serve.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { refuse } from '../../../src/http/refusal.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { EventStream } from '../../../src/http/server/event-stream.ts'
import { recordConditions } from '../../../src/store/alerts/alerts.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection, setRunState } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { databases, emptyTables, type TestDatabase } from '../../helpers/servers/databases.ts'
import { storeRun } from '../../helpers/stored-runs.ts'

const now = new Date('2026-11-20T03:00:00.000Z')

describe.each(databases)('what happens on $name', ({ createDatabase }) => {
  let at: TestDatabase
  let store: Database<StoreSchema>
  beforeAll(async () => {
    at = await createDatabase()
    store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
  })
  beforeEach(async () => {
    await emptyTables(store, 'rollcall')
    for (const name of ['acme', 'globex']) await ensureConnection(store.db, name)
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await at[Symbol.asyncDispose]()
  })

  /** Listens, and waits for the expected number of events. */
  async function listen(live: Live, connection?: string) {
    const received: LiveEvent[] = []
    const leave = await live.listen({ connection, onEvent: (event) => received.push(LiveEvent.parse(event)) })
    return {
      received,
      leave,
      until: (length: number) => vi.waitUntil(() => received.length >= length, { timeout: 60_000 }),
    }
  }

  test('a listener gets the current state, and then each change of its connection', async () => {
    using live = startLive(store.db)
    const ofAcme = await storeRun(store.db, { state: 'delivering', at: now })
    const ofGlobex = await storeRun(store.db, { connection: 'globex', state: 'delivering', at: now })
    const all = await listen(live)
    const acme = await listen(live, 'acme')

    await setRunState(store.db, { id: ofGlobex, to: 'finished', now })
    await all.until(2)
    await setRunState(store.db, { id: ofAcme, to: 'finished', now })
    await acme.until(2)

    expect(all.received[0]).toMatchObject({
      event: 'snapshot',
      data: { runs: [{ state: 'delivering' }, { state: 'delivering' }] },
    })
    expect(all.received[1]).toMatchObject({ event: 'run', data: { id: ofGlobex, state: 'finished' } })
    expect(acme.received).toMatchObject([
      { event: 'snapshot', data: { runs: [{ id: ofAcme }], alerts: [] } },
      { event: 'run', data: { id: ofAcme, connection: 'acme', state: 'finished' } },
    ])
  })

  test('a run that is not among the newest is reported when it ends', async () => {
    using live = startLive(store.db)
    const held = await storeRun(store.db, { state: 'held', at: new Date('2026-10-01') })
    for (let index = 0; index < 25; index++) await storeRun(store.db, { state: 'unchanged', at: now })
    const { received, until } = await listen(live)

    await setRunState(store.db, { id: held, to: 'rejected', now })
    await until(2)

    expect(received[1]).toMatchObject({ event: 'run', data: { id: held, state: 'rejected' } })
  })

  test('an alert is reported when it is raised and when it is closed', async () => {
    using live = startLive(store.db)
    const { received, until } = await listen(live)
    const blocked = {
      kind: 'blocked',
      code: 'key_refused',
      reason: 'r',
      since: now,
      people: 3,
      leavers: 1,
      runId: null,
    } as const
    const record = (conditions: Parameters<typeof recordConditions>[1], time: Date) =>
      recordConditions(store.db, conditions, { channels: [], now: time })

    await record([{ connection: 'acme', ...blocked }], now)
    await until(2)
    for (let minute = 1; minute < 30; minute++) await record([], new Date(now.getTime() + minute * 60_000))
    await until(3)

    const data = { connection: 'acme', kind: 'blocked', code: 'key_refused', people: 3 }
    expect(received.slice(1)).toMatchObject([
      { event: 'alert', data: { ...data, open: true } },
      { event: 'alert', data: { ...data, open: false } },
    ])
    expect(JSON.stringify(received)).not.toContain('"reason"')
  })

  test('a listener that left gets no events, and the store is not read without listeners', async () => {
    using live = startLive(store.db)
    const { received, leave } = await listen(live)
    leave()
    const other = await listen(live, 'globex')

    await storeRun(store.db, { connection: 'globex', state: 'delivering', at: now })
    await other.until(2)

    expect(received).toHaveLength(1)
  })

  test('is served as server-sent events to callers who are admitted, and ends when the server closes', async () => {
    using live = startLive(store.db)
    const app = await createApp()
    const admit = async ({ headers }: { headers: { authorization?: string } }) => {
      if (headers.authorization === undefined) throw refuse('Unauthorized', 'who is this')
      return machineCaller('ana')
    }
    serveLive(app, { prefix: '/api/v1', live, connections: new Map([['acme', null]]), admit })
    const origin = await app.listen({ port: 0 })
    const get = (path: string, headers: Record<string, string> = { authorization: 'Bearer x' }) =>
      fetch(`${origin}/api/v1/events/live${path}`, { headers })

    const refused = [await get('', {}), await get('?connection=other'), await get('?Connection=acme')]
    const answer = await get('?connection=acme')
    const id = await storeRun(store.db, { state: 'delivering', at: now })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes(id)) text += (await reader?.read())?.value ?? ''
    await app.close()
    const after = await reader?.read()

    expect(refused.map(({ status }) => status)).toEqual([401, 404, 400])
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(text).toMatch(/^event: snapshot\ndata: \{.*\}\n\nevent: run\ndata: \{.*\}\n\n$/)
    expect(after?.done).toBe(true)
  })
})

/** An empty store whose statements wait until the gate is opened. */
function gatedStore() {
  let gate = Promise.withResolvers<void>()
  const held = { statements: 0 }
  const db = new Kysely<StoreSchema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    plugins: [
      {
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          held.statements++
          await gate.promise
          return result
        },
      },
    ],
  })
  return {
    db,
    held,
    open: () => gate.resolve(),
    close: () => {
      gate = Promise.withResolvers<void>()
    },
  }
}

test('only one further read is scheduled, however often listeners come and go while the store is read', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  using _real = { [Symbol.dispose]: () => void vi.useRealTimers() }
  const store = gatedStore()
  using live = startLive(store.db)
  store.open()
  let leave = await live.listen({ onEvent: () => {} })

  for (let visit = 0; visit < 3; visit++) {
    store.close()
    vi.advanceTimersToNextTimer()
    leave()
    const next = live.listen({ onEvent: () => {} })
    store.open()
    leave = await next
    await setImmediate()
  }

  expect(vi.getTimerCount()).toBe(1)
  leave()
  const before = store.held.statements
  vi.advanceTimersToNextTimer()
  expect([vi.getTimerCount(), store.held.statements]).toEqual([0, before])
})

/** Serves a stream whose events the test sends. `who` names the caller of a request; null if the caller may no longer listen. */
async function serveHeard(who: (request: FastifyRequest) => string | null) {
  const listeners = new Set<Listener>()
  const live: Live = {
    async listen(listener) {
      listeners.add(listener)
      // Without a first event the answer would begin with the heartbeat after 15 seconds.
      listener.onEvent({ event: 'snapshot', data: { runs: [], alerts: [] } })
      return () => void listeners.delete(listener)
    },
    [Symbol.dispose]: () => {},
  }
  const app = await createApp()
  const admit = async (request: FastifyRequest) => {
    const name = who(request)
    if (name === null) throw refuse('Unauthorized', 'who is this')
    return { ...machineCaller(name), principal: `token:${name}` }
  }
  serveLive(app, { prefix: '/api/v1', live, connections: new Map(), admit, admitAgainMs: 20 })
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/api/v1/events/live`
  return { listeners, url, [Symbol.asyncDispose]: () => app.close() }
}

test('a caller may have at most 16 streams, and another caller is served meanwhile', async () => {
  await using served = await serveHeard(({ headers }) => String(headers.authorization))
  const listen = async (name: string) => {
    const leaving = new AbortController()
    const answer = await fetch(served.url, { headers: { authorization: name }, signal: leaving.signal })
    // Returned with the function, because an unreferenced response would be garbage collected and closed.
    return { answer, leave: () => leaving.abort() }
  }

  const all = await Promise.all(Array.from({ length: 16 }, () => listen('ana')))
  const refused = await listen('ana')
  const other = await listen('ben')
  all[0]?.leave()
  await vi.waitUntil(() => served.listeners.size === 16, { timeout: 30_000 })
  const again = await listen('ana')

  expect(all.map(({ answer }) => answer.status)).toEqual(all.map(() => 200))
  expect([refused, other, again].map(({ answer }) => answer.status)).toEqual([429, 200, 200])
})

test('a stream ends soon after the caller may not listen any more', async () => {
  let isSignedIn = true
  await using served = await serveHeard(() => (isSignedIn ? 'ana' : null))
  const answer = await fetch(served.url)
  const reading = answer.text()

  isSignedIn = false
  await reading

  expect(answer.status).toBe(200)
  await vi.waitUntil(() => served.listeners.size === 0, { timeout: 30_000 })
})

test('a reader who takes nothing from the connection is disconnected, and their events are not kept', async () => {
  await using served = await serveHeard(() => 'ana')
  const { hostname, port, pathname } = new URL(served.url)
  const socket = createConnection({ host: hostname, port: Number(port) })
  using _ending = { [Symbol.dispose]: () => socket.destroy() }
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  const [listener] = served.listeners
  const data = { runs: [], alerts: [], filler: 'x'.repeat(64 * 1024) }
  let sentBytes = 0

  while (served.listeners.size > 0) {
    for (let part = 0; part < 16; part += 1) listener?.onEvent({ event: 'snapshot', data })
    sentBytes += 16 * data.filler.length
    if (sentBytes > 2 ** 30) break
    await setImmediate()
  }

  expect(served.listeners.size).toBe(0)
})

test('a reader who does not read is disconnected before many events wait', async () => {
  const stream = new EventStream()

  for (let index = 0; index < 10_000 && !stream.destroyed; index++) stream.sendEvent('run', { text: 'x'.repeat(1000) })

  expect(stream.destroyed).toBe(true)
  expect(stream.readableLength).toBeLessThanOrEqual(256 * 1024)
})
