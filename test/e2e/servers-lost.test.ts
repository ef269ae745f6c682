import { cpus } from 'node:os'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { type OwnRedis, type OwnServer, ownServer } from '../helpers/servers/own-servers.ts'
import { type Gate, inFlight, openSite, type Site, type SiteDaemon, until } from '../helpers/sources/own-site.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, startHost } from '../helpers/world.ts'

const headcount = isFull ? 20_000 : 500
const batchSize = isFull ? 400 : 20
/** The number of delivered batches at which the fault happens. */
const middle = 15
/** From the moment at which a server is back, no more time than this passes without a request to the platform while work is left. */
const mostIdleMs = 10_000
/** A daemon that has not answered for this long waits for something. */
const waitsMs = 2000
/** Long enough for every wait within to give up first, so that what was started is ended. */
const timeoutMs = 900_000

let host: Host
let hostDatabase: Awaited<ReturnType<typeof createPostgresDatabase>>
beforeAll(async () => {
  hostDatabase = await createPostgresDatabase()
  host = await startHost(hostDatabase.at)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await hostDatabase[Symbol.asyncDispose]()
})

/** A daemon stopped in the middle of everybody: some batches are through, some under way, the rest waits in the queue. */
type Middle = { readonly site: Site; readonly daemon: SiteDaemon; readonly gate: Gate }

async function inTheMiddle(site: Site): Promise<Middle> {
  await site.night()
  const daemon = await site.daemon()
  const gate = site.gateAfter(middle)
  await daemon.control.startRun({ params: { connection: 'acme' }, body: {} })
  await gate.reached(inFlight)
  return { site, daemon, gate }
}

/**
 * Resolves when the run has come to rest, and tells for how long nothing happened at most from now on: no request came, though a
 * processor of the machine was free.
 */
async function longestIdle({ site, daemon }: Pick<Middle, 'site' | 'daemon'>): Promise<number> {
  let [requests, longestMs] = [site.proxy.requests.length, 0]
  let [movedMs, movedFreeMs] = [performance.now(), freeMs()]
  const look = () => {
    longestMs = Math.max(longestMs, Math.min(performance.now() - movedMs, freeMs() - movedFreeMs))
    if (site.proxy.requests.length === requests) return
    requests = site.proxy.requests.length
    movedMs = performance.now()
    movedFreeMs = freeMs()
  }
  const looking = setInterval(look, 50)
  try {
    await site.atRest(daemon.control)
    look()
    return longestMs
  } finally {
    clearInterval(looking)
  }
}

/**
 * What came of it, asked when the server is back: for how long nothing happened, how the run ended, what is wrong with that, whether
 * anybody was sent who need not have been, and what the next run does.
 */
async function outcome({ site, daemon }: Pick<Middle, 'site' | 'daemon'>) {
  const idleMs = await longestIdle({ site, daemon })
  const state = await site.atRest(daemon.control)
  const repeated = site.peopleSent() - headcount
  const findings = await site.account()
  await daemon.control.startRun({ params: { connection: 'acme' }, body: {} })
  const again = await site.atRest(daemon.control, 2)
  return { idleMs, state, findings, again, repeated, exit: daemon.child.exitCode }
}

/** Those under way when something happened may have to be sent again, and nobody else. */
const well = {
  idleMs: expect.toSatisfy((idleMs: number) => idleMs <= mostIdleMs, `at most ${mostIdleMs} ms`),
  state: 'finished',
  findings: [],
  again: 'unchanged',
  repeated: expect.toSatisfy((people: number) => people >= 0 && people <= inFlight * batchSize, 'people in flight'),
  exit: null,
}

async function withRedis(stack: AsyncDisposableStack): Promise<{ site: Site; redis: OwnRedis }> {
  const redis = stack.use(await ownServer('redis'))
  const database = stack.use(await createPostgresDatabase()).at
  const site = stack.use(await openSite(host, { people: headcount, batchSize, database, queue: redis.url }))
  return { site, redis }
}

/** Looks at the locks that workers hold on jobs now; what it answers resolves when none of them can be good any more. */
async function locksRunOut({ url }: OwnServer): Promise<() => Promise<true>> {
  const client = new Redis(url)
  const locks = await client.keys('rollcall:jobs:*:lock')
  const remainingMs = await Promise.all(locks.map((lock) => client.pttl(lock)))
  client.disconnect()
  const endsAtMs = performance.now() + Math.max(...remainingMs)
  return () => until('the locks had run out', async () => (performance.now() > endsAtMs ? true : undefined))
}

/** For how long the processors of the machine, taken together, have had nothing to do. */
function freeMs(): number {
  return cpus().reduce((total, { times }) => total + times.idle, 0)
}

async function answers({ url }: SiteDaemon): Promise<boolean> {
  const { ok } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(waitsMs) }).catch(() => ({ ok: false }))
  return ok
}

describe.concurrent(`in the middle of ${headcount} people`, { timeout: timeoutMs }, () => {
  test('a Redis that is killed and comes back empty loses nobody', async () => {
    await using stack = new AsyncDisposableStack()
    const { site, redis } = await withRedis(stack)
    const { daemon, gate } = await inTheMiddle(site)

    await redis.kill()
    await gate.open()
    await redis.start()

    expect(await outcome({ site, daemon })).toEqual(well)
  })

  test('a Redis that is flushed loses nobody', { tags: ['full'] }, async () => {
    await using stack = new AsyncDisposableStack()
    const { site, redis } = await withRedis(stack)
    const { daemon, gate } = await inTheMiddle(site)

    await redis.flush()
    await gate.open()

    expect(await outcome({ site, daemon })).toEqual(well)
  })

  test('a Redis that hangs longer than jobs are locked causes no second delivery', async () => {
    await using stack = new AsyncDisposableStack()
    const { site, redis } = await withRedis(stack)
    const { daemon, gate } = await inTheMiddle(site)

    const runOut = await locksRunOut(redis)
    await redis.pause()
    await gate.open()
    await runOut()
    await redis.resume()

    expect(await outcome({ site, daemon })).toEqual(well)
  })

  test('a Redis that is unreachable when a run is requested delays nobody', async () => {
    await using stack = new AsyncDisposableStack()
    const { site, redis } = await withRedis(stack)
    await site.night()
    const daemon = await site.daemon()
    await redis.kill()

    await daemon.control.startRun({ params: { connection: 'acme' }, body: {} })
    await redis.start()

    expect(await outcome({ site, daemon })).toEqual(well)
  })

  test('a daemon that starts with an empty Redis continues from the store', { tags: ['full'] }, async () => {
    await using stack = new AsyncDisposableStack()
    const { site, redis } = await withRedis(stack)
    const killed = await inTheMiddle(site)

    killed.daemon.child.kill('SIGKILL')
    await killed.daemon.ended
    await redis.flush()
    await killed.gate.open()
    const daemon = await site.daemon()

    expect(await outcome({ site, daemon })).toEqual(well)
  })

  test.each(isFull ? ['Redis', 'the same PostgreSQL'] : ['Redis'])(
    'a PostgreSQL that is killed and comes back loses nobody, with the queue in %s',
    async (queue) => {
      await using stack = new AsyncDisposableStack()
      const postgres = stack.use(await ownServer('postgres'))
      const redis = queue === 'Redis' ? { queue: stack.use(await ownServer('redis')).url } : {}
      const options = { people: headcount, batchSize, database: postgres.url, ...redis }
      const site = stack.use(await openSite(host, options))
      const { daemon, gate } = await inTheMiddle(site)

      await postgres.kill()
      await gate.open()
      await postgres.start()

      expect(await outcome({ site, daemon })).toEqual(well)
    },
  )

  test.each(isFull ? ['Redis', 'the same PostgreSQL'] : ['the same PostgreSQL'])(
    'a PostgreSQL that stands still loses nobody, with the queue in %s',
    async (queue) => {
      await using stack = new AsyncDisposableStack()
      const postgres = stack.use(await ownServer('postgres'))
      const redis = queue === 'Redis' ? { queue: stack.use(await ownServer('redis')).url } : {}
      const options = { people: headcount, batchSize, database: postgres.url, ...redis }
      const site = stack.use(await openSite(host, options))
      const { daemon, gate } = await inTheMiddle(site)

      await postgres.pause()
      await gate.open()
      await until('the daemon waited for its database', async () => ((await answers(daemon)) ? undefined : true))
      await postgres.resume()

      expect(await outcome({ site, daemon })).toEqual(well)
    },
  )
})
