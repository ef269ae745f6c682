import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import type { JobRequest } from '../../../src/queue/jobs.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { claimDelivery } from '../../../src/store/deliveries/claim.ts'
import { type Lease, takeLease } from '../../../src/store/workers/leases.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'
import type { RateLimiter } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { cancelRun, requestRun, sweep, unblock } from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

const nextNight = '2026-11-21T01:00:00.000Z'
const hourMs = 60 * 60_000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const unreachable = { status: 'unreachable', reason: 'reset', message: 'connection reset', sent: true } as const

describe.each(databases)('on $name', ({ createDatabase }) => {
  async function open() {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client }))
    return { world, client, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  /** Lets requests pass through `wrap` until the answer is disposed. */
  function between(world: World, wrap: (client: PlatformClient) => Partial<PlatformClient>): Disposable {
    const { platform } = world.sync
    Object.assign(world.sync, { platform: { ...platform, client: { ...platform.client, ...wrap(platform.client) } } })
    return { [Symbol.dispose]: () => Object.assign(world.sync, { platform }) }
  }

  /** The platform applies what is sent, and nobody hears of it. */
  function answersLost(world: World): Disposable {
    return between(world, (real) => ({
      async upsertHrisUserIdentities(input, options) {
        await real.upsertHrisUserIdentities(input, options)
        return unreachable
      },
      async updateHrisUserIdentity(input, options) {
        await real.updateHrisUserIdentity(input, options)
        return unreachable
      },
    }))
  }

  async function uncertain({ sync }: World): Promise<number> {
    const { rows } = await sql<{ people: number }>`select count(*)::int as people from roster where uncertain`.execute(
      sync.store.db,
    )
    return rows[0]?.people ?? 0
  }

  test('a batch whose answer was lost is looked up, and nothing of it is sent again', async () => {
    await using opened = await open()
    const { world, client } = opened
    let run: Awaited<ReturnType<World['night']>>
    {
      using _lost = answersLost(world)
      run = await world.night(change(staff(30), { id: 'E0009', leavingDate: '2026-11-01' }))
    }
    const requests: string[] = []
    using _seen = between(world, (real) => ({
      async upsertHrisUserIdentities(input, options) {
        requests.push('upsert')
        return await real.upsertHrisUserIdentities(input, options)
      },
      async listHrisUserIdentities(input, options) {
        requests.push('list')
        return await real.listHrisUserIdentities(input, options)
      },
    }))
    world.clock.now = new Date(world.clock.now.getTime() + hourMs)

    await world.minute()

    expect(run).toMatchObject({ state: 'delivering', remaining: 30 })
    expect(requests).toEqual(['list'])
    expect(await world.runOf(run.id)).toMatchObject({ state: 'finished', confirmed: 30 })
    expect((await peopleOn(client)).get('E0009')?.separatedAt).toBe('2026-11-01T00:00:00.000Z')
  })

  test('the next run looks up cancelled changes with an unknown outcome, and repairs differences', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(10))
    {
      using _lost = answersLost(world)
      const run = await world.night(change(staff(10), { id: 'E0003', leavingDate: '2026-11-19' }), { asOf: nextNight })
      await cancelRun(world.sync, { runId: run.id, by: 'ana' })
    }
    const storedDate = (await peopleOn(client)).get('E0003')?.separatedAt
    const inDoubt = await uncertain(world)

    const run = await world.night(staff(10), { asOf: '2026-11-22T01:00:00.000Z' })

    expect(storedDate).toBe('2026-11-19T00:00:00.000Z')
    expect(inDoubt).toBe(1)
    expect(run).toMatchObject({ state: 'finished', counts: { return: 1 } })
    expect((await peopleOn(client)).get('E0003')?.separatedAt).toBeNull()
    expect(await uncertain(world)).toBe(0)
  })

  /** A run about E0003 up to its one batch, which is left to the test. */
  async function batchAbout(world: World, title: string): Promise<JobRequest> {
    world.setExport(change(staff(10), { id: 'E0003', title }), nextNight)
    await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await world.workOn(taken(world))
    return taken(world)
  }

  function taken(world: World): JobRequest {
    const [job] = world.jobs.splice(0)
    if (!job) throw new Error('nothing was enqueued')
    return job
  }

  /** A gate at which work waits until the test opens it. */
  function brink() {
    const [reached, continued] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    return {
      reached: reached.promise,
      goOn: continued.resolve,
      async comeBy() {
        reached.resolve()
        await continued.promise
      },
    }
  }

  /** As a process that the system has stopped: its sessions stay, and it gives no sign. */
  async function standStill({ sync }: World, { id }: Lease): Promise<void> {
    await sql`update leases set seen_at = now() - interval '61 seconds' where id = ${id}`.execute(sync.store.db)
  }

  test('after a suspended process sends old facts over newer ones, its people are looked up and repaired', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(10))
    await using stopped = await takeLease(world.sync.store)
    const batch = await batchAbout(world, 'Old')
    const brinkOfSending = brink()
    const { platform } = world.sync
    const upsert: PlatformClient['upsertHrisUserIdentities'] = async (input, options) => {
      await brinkOfSending.comeBy()
      return await platform.client.upsertHrisUserIdentities(input, options)
    }
    const slowClient = { ...platform.client, upsertHrisUserIdentities: upsert }
    const old = world.workOn(batch, undefined, { lease: stopped, platform: { ...platform, client: slowClient } })
    await brinkOfSending.reached
    await standStill(world, stopped)

    await world.minute()
    const newer = await world.night(change(staff(10), { id: 'E0003', title: 'New' }), {
      asOf: '2026-11-22T01:00:00.000Z',
    })
    const whileSuspended = (await peopleOn(client)).get('E0003')?.jobTitle
    brinkOfSending.goOn()
    await old
    const undone = (await peopleOn(client)).get('E0003')?.jobTitle
    await world.minute()

    expect(newer.state).toBe('finished')
    expect([whileSuspended, undone]).toEqual(['New', 'Old'])
    expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('New')
    expect(await uncertain(world)).toBe(0)
  })

  test('a process that was suspended before its request sends nothing when it resumes', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(10))
    await using stopped = await takeLease(world.sync.store)
    const batch = await batchAbout(world, 'Old')
    const brinkOfSending = brink()
    const { platform } = world.sync
    let sent = 0
    const rateLimiter: RateLimiter = {
      ...platform.rateLimiter,
      async send(request, signal) {
        await brinkOfSending.comeBy()
        return await platform.rateLimiter.send(request, signal)
      },
    }
    const upsert: PlatformClient['upsertHrisUserIdentities'] = async (input, options) => {
      sent++
      return await platform.client.upsertHrisUserIdentities(input, options)
    }
    const slow = { ...platform, rateLimiter, client: { ...platform.client, upsertHrisUserIdentities: upsert } }
    const old = world.workOn(batch, undefined, { lease: stopped, platform: slow })
    await brinkOfSending.reached
    await standStill(world, stopped)
    await world.minute()

    brinkOfSending.goOn()
    await old

    expect(sent).toBe(0)
    expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('Old')
  })

  test('the people of a batch taken over from a suspended process are looked up once that process has ended', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(staff(10))
    const stopped = await takeLease(world.sync.store)
    const batch = await batchAbout(world, 'New')
    if (batch.name === 'run') throw new Error('a batch was expected')
    await claimDelivery(world.sync.store.db, { ...batch.payload, lease: stopped, now: world.clock.now })
    await standStill(world, stopped)
    await world.minute()
    await sweep(world.sync)
    const beforeItsEnd = await uncertain(world)
    await stopped[Symbol.asyncDispose]()

    await sweep(world.sync)
    const inDoubt = await uncertain(world)
    await world.drain()

    expect([beforeItsEnd, inDoubt, await uncertain(world)]).toEqual([0, 1, 0])
  })

  /** Whatever is enqueued finds no queue, and what was in it is gone. */
  function queueAway(world: World): Disposable {
    const { enqueue } = world.sync
    const away = async () => {
      throw new Failure('queue_unreachable', 'The queue does not answer')
    }
    world.jobs.length = 0
    Object.assign(world.sync, { enqueue: away })
    return { [Symbol.dispose]: () => Object.assign(world.sync, { enqueue }) }
  }

  test('a run whose process ended right after its last batch is closed by the next sweep, and the next one starts', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world } = opened
    const { events } = world.sync
    const dies = () => {
      throw new Error('the process is gone')
    }
    Object.assign(world.sync, { events: { ...events, outcomesRecorded: dies } })
    const { id, state } = await world.night(staff(5))
    Object.assign(world.sync, { events })
    world.setExport(staff(6), nextNight)
    const next = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })

    await world.minute()

    expect(state).toBe('delivering')
    expect(await world.runOf(id)).toMatchObject({ state: 'finished', confirmed: 5 })
    expect(await world.runOf(next.id)).toMatchObject({ state: 'finished', confirmed: 1 })
  })

  test('while the queue is unreachable a run is stored, and the sweep starts it when the queue is back', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world, client } = opened
    world.setExport(staff(5))
    const away = queueAway(world)
    const run = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    away[Symbol.dispose]()

    await world.minute()

    expect(await world.runOf(run.id)).toMatchObject({ state: 'finished', confirmed: 5 })
    expect((await peopleOn(client)).size).toBe(5)
  })

  test('a queue that fails during a run, and comes back empty after an hour, loses nobody', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(5))
    const before = change(staff(7), { id: 'E0001', leavingDate: '2026-11-01' })
    world.setExport(before, nextNight)
    const running = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    const [readIt] = world.jobs
    const away = queueAway(world)
    if (readIt) await world.workOn(readIt)
    const after = change(before, { id: 'E0002', leavingDate: '2026-11-02' })
    world.setExport(after, '2026-11-21T01:30:00.000Z')
    const waiting = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    for (let minute = 0; minute < 60; minute++) {
      world.clock.now = new Date(world.clock.now.getTime() + hourMs / 60)
      await world.minute()
    }
    const meanwhile = [(await world.runOf(running.id)).state, (await world.runOf(waiting.id)).state]
    away[Symbol.dispose]()

    await world.minute()

    const people = await peopleOn(client)
    expect(meanwhile).toEqual(['delivering', 'waiting'])
    expect([(await world.runOf(running.id)).state, (await world.runOf(waiting.id)).state]).toEqual([
      'finished',
      'finished',
    ])
    expect(people.size).toBe(7)
    expect(people.get('E0001')?.separatedAt).toBe('2026-11-01T00:00:00.000Z')
    expect(people.get('E0002')?.separatedAt).toBe('2026-11-02T00:00:00.000Z')
  })
})

test('one batch of a blocked connection is the probe when it is due', async () => {
  const { client } = await host.tenant()
  const delivery = { batchSize: 2, batchBytes: 1_000_000, updateWave: 100 }
  await using world = await openWorld({ client, connection: { delivery } })
  let requests = 0
  const { platform } = world.sync
  const refused = async () => {
    requests++
    return { status: 401, error: { message: 'no', code: null, name: null }, headers: {} } as const
  }
  await world.night(staff(2))
  const refusing = { ...platform.client, upsertHrisUserIdentities: refused }
  Object.assign(world.sync, { platform: { ...platform, client: refusing } })
  const run = await world.night(staff(12), { asOf: nextNight })
  const atOnce = requests
  world.clock.now = new Date(world.clock.now.getTime() + 14 * 60_000)
  await world.minute()
  const early = requests
  world.clock.now = new Date(world.clock.now.getTime() + 2 * 60_000)

  await world.minute()
  const probed = requests
  Object.assign(world.sync, { platform })
  const unblocked = await unblock(world.sync, { connection: 'acme', by: 'ana' })
  await world.drain()

  expect([atOnce, early, probed]).toEqual([1, 1, 2])
  expect(unblocked).toEqual({ wasBlocked: true, due: 10 })
  expect((await world.runOf(run.id)).state).toBe('finished')
})

test('other batches continue as soon as the probe has passed', { tags: ['full'] }, async () => {
  const { client } = await host.tenant()
  const delivery = { batchSize: 2, batchBytes: 1_000_000, updateWave: 100 }
  await using world = await openWorld({ client, connection: { delivery } })
  const { platform } = world.sync
  await world.night(staff(2))
  const refused = async () => ({ status: 401, error: { message: 'no', code: null, name: null }, headers: {} }) as const
  Object.assign(world.sync, {
    platform: { ...platform, client: { ...platform.client, upsertHrisUserIdentities: refused } },
  })
  const run = await world.night(staff(6), { asOf: nextNight })
  world.clock.now = new Date(world.clock.now.getTime() + 15 * 60_000)
  const probing = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const upsert: PlatformClient['upsertHrisUserIdentities'] = async (input, options) => {
    probing.resolve()
    await answered.promise
    return await platform.client.upsertHrisUserIdentities(input, options)
  }
  const slow = { ...platform, client: { ...platform.client, upsertHrisUserIdentities: upsert } }
  await sweep(world.sync)
  const [first, second] = world.jobs.splice(0)
  if (!first || !second) throw new Error('two batches were expected')

  const probe = world.workOn(first, undefined, { platform: slow })
  await probing.promise
  await world.workOn(second)
  Object.assign(world.sync, { platform })
  answered.resolve()
  await probe
  await world.drain()

  expect(await world.runOf(run.id)).toMatchObject({ state: 'finished', confirmed: 4 })
})

test('people behind an open circuit count as failing since it opened', { tags: ['full'] }, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { platform } = world.sync
  const open: RateLimiter = {
    ...platform.rateLimiter,
    send: async () => ({ status: 'unreachable', reason: 'withheld', message: 'no', sent: false, retryAfterMs: 1000 }),
  }
  Object.assign(world.sync, { platform: { ...platform, rateLimiter: open } })
  const opened = new Date(world.clock.now.getTime() + 60_000)
  await world.night(staff(3))
  world.clock.now = new Date(world.clock.now.getTime() + 20 * 60_000)
  await world.minute()

  const { rows } = await sql<{ failures: number; since: Date; code: string }>`
    select failures, failing_since as since, last_code as code from deliveries`.execute(world.sync.store.db)

  expect(rows).toEqual([{ failures: 0, since: opened, code: 'circuit_open' }])
})

test('a target by name that vanished blocks, and once unblocked it is created again with everybody', {
  tags: ['full'],
}, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(staff(5))
  const [connection] = await connectionStates(world.sync.store.db)
  await client.deleteCustomConnection({ params: { connectionId: connection?.targetId ?? 0 } })
  const run = await world.night(change(staff(5), { id: 'E0002', title: 'King' }), { asOf: nextNight })
  const [blocked] = await connectionStates(world.sync.store.db)

  await unblock(world.sync, { connection: 'acme', by: 'ana' })
  await world.drain()
  await world.night(change(staff(5), { id: 'E0002', title: 'King' }), { asOf: '2026-11-22T01:00:00.000Z' })

  expect(run.state).toBe('delivering')
  expect(blocked?.blocked).toMatchObject({ status: 404, code: 'connection_missing' })
  expect((await peopleOn(client)).size).toBe(5)
})

test('other connections continue while one is blocked', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const other = { ...world.connection, name: 'other', target: { name: 'Other HRIS' } }
  Object.assign(world.sync, { connections: new Map([...world.sync.connections, ['other', other]]) })
  for (const _ of [1, 2]) await client.createCustomConnection({ body: { name: 'Acme HRIS', providerTypes: ['HRIS'] } })
  world.setExport(staff(3))

  const blocked = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  const free = await requestRun(world.sync, { connection: 'other', trigger: 'operator' })
  await world.drain()

  expect((await world.runOf(blocked.id)).state).toBe('delivering')
  expect((await world.runOf(free.id)).state).toBe('finished')
})
