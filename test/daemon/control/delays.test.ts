import { afterAll, beforeAll, expect, test } from 'vitest'
import { delayOf, platformDelay, troubleText } from '../../../src/daemon/control/delays.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { createRateLimiter } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { between, change, type Host, openWorld, staff, startHost, type World } from '../../helpers/world.ts'

const secondNight = '2026-11-21T01:00:00.000Z'
const refused = {
  status: 'unreachable',
  reason: 'connect',
  message: 'no',
  sent: false,
  cause: 'connection refused',
} as const
const limited = {
  status: 'undeclared',
  httpStatus: 429,
  error: { message: 'slow down', code: null, name: null },
  retryAfterMs: 90_000,
} as const

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** A run whose requests the platform refuses with this answer. */
async function stuck(answer: typeof refused | typeof limited) {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  await world.night(staff(3))
  const platform = { isAway: true }
  between(world, (real) => ({
    updateHrisUserIdentity: async (...input) =>
      platform.isAway ? answer : await real.updateHrisUserIdentity(...input),
    getHrisUserIdentity: async (...input) => (platform.isAway ? answer : await real.getHrisUserIdentity(...input)),
  }))
  const run = await world.night(change(staff(3), { id: 'E0001', leavingDate: '2026-11-05' }), { asOf: secondNight })
  return { world, run, platform, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

/** Another process on the same store, which has sent nothing. */
function elsewhere({ sync }: World): World['sync'] {
  const { baseUrl } = sync.platform
  const rateLimiter = createRateLimiter({
    pool: sync.store.pool,
    platform: baseUrl,
    requestsPerMinute: 1_000_000,
    inFlight: 1,
  })
  return { ...sync, platform: { ...sync.platform, rateLimiter } }
}

test('every process reports a failed request at once, until the first answer', async () => {
  await using opened = await stuck(refused)
  const { world, run, platform } = opened
  const other = elsewhere(world)

  const delay = await delayOf(other, run)
  const ofAll = await platformDelay(other)
  platform.isAway = false
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)
  await world.minute()

  expect(run.state).toBe('delivering')
  expect(delay).toMatch(
    /^the platform has not answered since .*\d\d:\d\d UTC \(connection refused\); next attempt 03:0\d UTC$/,
  )
  expect(ofAll).toBe(delay)
  expect(await platformDelay(other)).toBe(null)
  expect(await delayOf(other, await world.runOf(run.id))).toBe(null)
})

test('a pause that the platform asks for is reported with its end', async () => {
  await using opened = await stuck(limited)
  const { world, run } = opened

  expect(await delayOf(elsewhere(world), run)).toMatch(/^the platform asks for a pause \(429\) until .*\d\d:\d\d UTC$/)
})

test('a run that waits says which run goes first, how much of it is left, and why that does not move', async () => {
  await using opened = await stuck(refused)
  const { world, run } = opened
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options: {} })

  const delay = await delayOf(world.sync, await world.runOf(id))

  expect(delay).toContain(`run ${run.id.slice(0, 8)} goes first, 1 change to go; the platform has not answered since`)
})

test('a run that has used its request budget says how long it waits', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { sync } = world
  const rateLimiter = createRateLimiter({
    pool: sync.store.pool,
    platform: 'http://slow.example',
    requestsPerMinute: 10,
    inFlight: 1,
  })
  Object.assign(sync, { platform: { ...sync.platform, baseUrl: 'http://slow.example', rateLimiter } })
  const run = { id: 'r1', connection: 'acme', state: 'delivering' } as const
  const before = await delayOf(sync, run)

  await rateLimiter.send(async () => refused, new AbortController().signal)
  await rateLimiter.send(async () => ({ status: 200, headers: {} }), AbortSignal.timeout(1)).catch(() => undefined)
  await sync.store.pool.query('update rollcall.request_budget set failing_since = null')

  expect(before).toBe(null)
  expect(await delayOf(sync, run)).toMatch(/^waiting for the request budget \([1-6] s\)$/)
})

test('the reason why a source makes its run wait is reported while it is opened', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  Object.assign(world.sync, { sourceWaits: new Map() })
  const { source } = world.connection.feeds
  if (!source) throw new Error('no source')
  const { open } = source.connector
  const delays: (string | null)[] = []
  Object.assign(source, {
    connector: {
      open: async (options: Parameters<typeof open>[0]) => {
        options.onWait?.('waiting 5 s: the export was written just now')
        const [run] = await listRuns(world.sync.store.db, { limit: 1 })
        if (run) delays.push(await delayOf(world.sync, run))
        return await open(options)
      },
    },
  })

  const run = await world.night(staff(3))

  expect(delays).toEqual(['waiting 5 s: the export was written just now'])
  expect(await delayOf(world.sync, { ...run, state: 'reading' })).toBe(null)
})

const now = new Date('2026-11-20T13:31:00.000Z')
const since = new Date('2026-11-20T13:30:10.000Z')
const nextAt = new Date('2026-11-20T13:32:40.000Z')

test.each([
  {
    trouble: { failing: { since, isAway: true, reason: 'connection refused' }, pausedUntil: null },
    nextAt,
    text: 'the platform has not answered since 13:30 UTC (connection refused); next attempt 13:32 UTC',
  },
  {
    trouble: { failing: { since, isAway: false, reason: 'it answers 503' }, pausedUntil: null },
    nextAt: since,
    text: 'the platform has failed since 13:30 UTC (it answers 503); next attempt is due',
  },
  {
    trouble: {
      failing: { since: new Date('2026-11-19T13:30:00.000Z'), isAway: true, reason: 'no answer in time' },
      pausedUntil: null,
    },
    nextAt: null,
    text: 'the platform has not answered since 2026-11-19 13:30 UTC (no answer in time)',
  },
  {
    trouble: { failing: { since, isAway: true, reason: 'connection refused' }, pausedUntil: nextAt },
    nextAt,
    text: 'the platform asks for a pause (429) until 13:32 UTC',
  },
])('$text', ({ trouble, nextAt: next, text }) => {
  expect(troubleText(trouble, { nextAt: next, now })).toBe(text)
})
