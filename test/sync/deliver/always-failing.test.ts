import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRateLimiter } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { firstOf } from '../../helpers/tier.ts'
import { between, change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

const nextNight = '2026-11-21T01:00:00.000Z'
const failure = { status: 500, error: { message: 'no', code: null, name: null }, headers: {} } as const

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

/** Has the platform always fail on updates of these people. */
function failingOn(world: World, ids: readonly string[]): void {
  const paths = new Set<unknown>(ids.map((id) => `identity-id:${id}`))
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      paths.has(input.params.userIdentityId) ? failure : await real.updateHrisUserIdentity(input, options),
  }))
}

/** An hour goes by, and everything that is due is tried again. */
async function hour(world: World): Promise<void> {
  world.clock.now = new Date(world.clock.now.getTime() + 61 * 60_000)
  await world.minute()
}

function keys(from: number, to: number): string[] {
  return staff(to)
    .slice(from - 1)
    .map(({ id }) => id)
}

test('a date that can never be cleared does not delay other departures of its batch', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(change(staff(20), { id: 'E0001', leavingDate: '2026-11-10' }))
  failingOn(world, ['E0001'])
  const run = await world.night(
    change(staff(20), ...['E0001', 'E0002', 'E0003'].map((id) => ({ id, leavingDate: '2026-11-05' }))),
    { asOf: nextNight },
  )

  await hour(world)

  const people = await peopleOn(client)
  expect(await world.runOf(run.id)).toMatchObject({ state: 'delivering', confirmed: 2 })
  expect(['E0002', 'E0003'].map((id) => people.get(id)?.separatedAt)).toEqual([
    '2026-11-05T00:00:00.000Z',
    '2026-11-05T00:00:00.000Z',
  ])
})

test('dates that can never be cleared do not delay other departures, even if they open the circuit', async () => {
  await using opened = await open()
  const { world } = opened
  Object.assign(world.sync, { platform: { ...world.sync.platform, inFlight: 1 } })
  await world.night(change(staff(400), ...keys(1, 7).map((id) => ({ id, leavingDate: '2026-11-10' }))))
  failingOn(world, keys(1, 7))
  const run = await world.night(change(staff(400), ...keys(1, 12).map((id) => ({ id, leavingDate: '2026-11-05' }))), {
    asOf: nextNight,
  })

  for (let hours = 0; hours < 6; hours++) {
    breakLong(world)
    await hour(world)
  }

  expect(await world.runOf(run.id)).toMatchObject({ state: 'finished_with_problems', confirmed: 5, problems: 7 })
})

/** A circuit that has just closed, and that stays open for longer than the next attempt takes. */
function breakLong({ sync }: World): void {
  const { baseUrl, inFlight } = sync.platform
  const circuit = { failures: 5, firstMs: 60_000, maxMs: 60_000 }
  const rateLimiter = createRateLimiter({
    pool: null,
    platform: baseUrl,
    requestsPerMinute: 1_000_000,
    inFlight,
    circuit,
  })
  Object.assign(sync, { platform: { ...sync.platform, rateLimiter: rateLimiter } })
}

test.each(
  firstOf(1, [
    // More in a row than open the circuit.
    { inFlight: 4, failing: 12 },
    { inFlight: 1, failing: 7 },
    { inFlight: 1, failing: 1 },
    { inFlight: 4, failing: 4 },
  ]),
)(
  '$failing leavers on whom the platform always fails, $inFlight at a time, keep no other back',
  async ({ inFlight, failing }) => {
    await using opened = await open()
    const { world } = opened
    Object.assign(world.sync, { platform: { ...world.sync.platform, inFlight } })
    const people = staff(400)
    await world.night(people)
    failingOn(world, keys(1, failing))
    const run = await world.night(
      change(people, ...keys(1, failing + 5).map((id) => ({ id, leavingDate: '2026-11-05' }))),
      {
        asOf: nextNight,
      },
    )

    for (let hours = 0; hours < 6; hours++) await hour(world)

    const state = 'finished_with_problems'
    expect(await world.runOf(run.id)).toMatchObject({ state, confirmed: 5, problems: failing })
  },
)

test.each<{ readonly failing: readonly string[] }>(
  firstOf(2, [
    { failing: ['E0001'] },
    { failing: ['E0060', 'E0120', 'E0180', 'E0240', 'E0300', 'E0360', 'E0420', 'E0480'] },
    { failing: ['E0500'] },
    { failing: ['E0001', 'E0002', 'E0003', 'E0004', 'E0005', 'E0006', 'E0007', 'E0008'] },
  ]),
)(
  '$failing.length people for whom the platform fails the batch are found, and all others arrive',
  async ({ failing }) => {
    await using opened = await open()
    const { world, client } = opened
    let requests = 0
    between(world, (real) => ({
      upsertHrisUserIdentities: async (input, options) => {
        requests++
        const isFailing = input.body.some(({ identityId }) => failing.includes(identityId))
        return isFailing ? failure : await real.upsertHrisUserIdentities(input, options)
      },
    }))
    const run = await world.night(staff(500))

    for (let hours = 0; hours < 8; hours++) await hour(world)
    const arrived = (await peopleOn(client)).size
    const requestsUntilThen = requests
    for (let hours = 0; hours < 8; hours++) await hour(world)

    const people = { confirmed: 500 - failing.length, problems: failing.length }
    expect(arrived).toBe(500 - failing.length)
    expect(requestsUntilThen).toBeLessThan(40 * failing.length + 40)
    expect(await world.runOf(run.id)).toMatchObject({ state: 'finished_with_problems', ...people })
  },
)
