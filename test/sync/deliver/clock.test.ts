import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import { inDoubtCounts } from '../../../src/store/in-doubt.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { type Budget, ownBudget, sharedBudget } from '../../../src/sync/rate-limit/budget.ts'
import { createCircuit } from '../../../src/sync/rate-limit/circuit.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { firstOf } from '../../helpers/tier.ts'
import { between, change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

const window = { requests: 2, ms: 6000 }
const dayMs = 24 * 60 * 60_000
const moves = [
  ['was a day ahead and is set back', dayMs],
  ['was a day behind and is set forward', -dayMs],
] as const

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())
afterEach(() => {
  vi.restoreAllMocks()
})

/** Has the machine's clock differ from the true one. Calling what it answers sets it right. */
function offset(ms: number): () => void {
  const real = Date.now
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => real() + ms)
  return () => spy.mockRestore()
}

describe.each(firstOf(1, moves))('a clock that %s', (_name, offsetMs) => {
  test.each(databases)('delays no request longer than a window or a pause in $name', async ({ createDatabase }) => {
    await using at = await createDatabase()
    await using store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
    const [used, paused] = ['used', 'paused'].map((name) => sharedBudget(store.pool, name, window)) as [Budget, Budget]
    for (let taken = 0; taken < 3; taken++) await used.take()
    await paused.pause(30_000)
    await sql`update request_budget set expire = expire + ${offsetMs}`.execute(store.db)

    expect((await used.take()).waitMs).toBeLessThanOrEqual(window.ms)
    expect((await paused.take()).waitMs).toBeLessThanOrEqual(30_000)
  })

  test('delays no request of a process without a store longer than a window', async () => {
    const setRight = offset(offsetMs)
    const budget = ownBudget(window)
    for (let taken = 0; taken < 3; taken++) await budget.take()
    setRight()

    expect((await budget.take()).waitMs).toBeLessThanOrEqual(window.ms)
  })

  test('lets the probe of a circuit pass after its break', async () => {
    const circuit = createCircuit<string>({ failures: 1, firstMs: 1, maxMs: 1 }, (answer) => answer === 'broken')
    const { signal } = new AbortController()
    const setRight = offset(offsetMs)
    await circuit.run(async () => 'broken', signal)
    setRight()

    await expect.poll(() => circuit.run(async () => 'fine', signal)).toEqual({ answer: 'fine' })
  })

  test('neither delays nor hides a failed batch', async () => {
    const { client } = await host.tenant()
    await using world = await openWorld({ client })
    await world.night(staff(10))
    const line = failing(world)
    const trueTime = world.clock.now.getTime()
    world.clock.now = new Date(trueTime + offsetMs)
    const { id } = await night(world)
    world.clock.now = new Date(trueTime + 30 * 60_000)

    await world.minute()
    const problems = await listProblems(world.sync.store.db, { now: world.clock.now })
    line.isUp = true
    world.clock.now = new Date(trueTime + 100 * 60_000)
    await world.minute()

    expect(problems).toMatchObject([{ identityId: 'E0001', state: 'undelivered' }])
    expect((await world.runOf(id)).state).toBe('finished')
    expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
  })

  test('still probes a blocked connection within a quarter of an hour', async () => {
    const { client } = await host.tenant()
    await using world = await openWorld({ client })
    await world.night(staff(10))
    const line = failing(world, 403)
    const trueTime = world.clock.now.getTime()
    world.clock.now = new Date(trueTime + offsetMs)
    const { id } = await night(world)
    const [blocked] = await connectionStates(world.sync.store.db)
    line.isUp = true
    world.clock.now = new Date(trueTime + 16 * 60_000)

    await world.minute()

    expect(blocked?.blocked?.code).toBe('permission_missing')
    expect((await world.runOf(id)).state).toBe('finished')
  })

  test('still looks people in doubt up until their doubt ends', async () => {
    const { client } = await host.tenant()
    await using world = await openWorld({ client })
    await world.night(staff(10))
    const line = failing(world, 504)
    const trueTime = world.clock.now.getTime()
    world.clock.now = new Date(trueTime + offsetMs)
    await night(world)
    line.isUp = true
    world.clock.now = new Date(world.clock.now.getTime() + 60_000)
    await world.minute()
    const { db } = world.sync.store
    const before = await inDoubtCounts(db)
    world.clock.now = new Date(trueTime)

    for (let minute = 0; minute < 50; minute++) {
      world.clock.now = new Date(world.clock.now.getTime() + 60_000)
      await world.minute()
    }

    expect(before.get('acme')?.people).toBe(1)
    expect((await inDoubtCounts(db)).size).toBe(0)
  })
})

/** Has every update fail until the line is up. */
function failing(world: World, status = 500): { isUp: boolean } {
  const line = { isUp: false }
  const error = { message: 'no', code: null, name: null }
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      line.isUp
        ? await real.updateHrisUserIdentity(input, options)
        : { status: 'undeclared', httpStatus: status, error, retryAfterMs: null },
  }))
  return line
}

async function night(world: World) {
  return await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-05' }), {
    asOf: '2026-11-20T02:00:00.000Z',
  })
}
