import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { noLimits } from '../../helpers/guards/no-limits.ts'
import { between, type Host, type HrPerson, openWorld, staff, startHost } from '../../helpers/world.ts'

const leavingDate = '2026-10-01'
const error = { message: 'the platform says no', code: null, name: null }

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Every second person has left: in each batch more than are looked up one by one. */
function company(): HrPerson[] {
  return staff(100).map((person, at) =>
    at % 2 === 0 ? { ...person, leavingDate: leavingDate, status: 'Inactive' } : person,
  )
}

/** The first half of the keys came last, so that the platform lists it first. */
async function open() {
  const { client } = await host.tenant()
  const delivery = { batchSize: 50, batchBytes: 1_000_000, updateWave: 100 }
  const world = await openWorld({ client, connection: { delivery, guards: noLimits } })
  await world.night(company().slice(50))
  await world.night(company(), { asOf: '2026-11-21T01:00:00.000Z' })
  const [state] = await connectionStates(world.sync.store.db)
  const connectionId = state?.targetId ?? 0
  return { world, client, connectionId, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

test('a leaving date that was set by a request with a lost answer is not cleared, although the list was read before', async () => {
  await using opened = await open()
  const { world, client, connectionId } = opened
  const params = { connectionId, userIdentityId: 'identity-id:E0051' } as const
  const failed = { status: 'undeclared', httpStatus: 500, error, retryAfterMs: null } as const
  let batches = 0
  let failing = 0
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      batches++
      // Somebody clears a date by hand, which is how the list shows it while the first batch is sent.
      if (batches === 1) await client.updateHrisUserIdentity({ params, body: { separatedAt: null } })
      const answer = await real.upsertHrisUserIdentities(input, options)
      if (batches !== 2) return answer
      failing = 1
      return { status: 'unreachable', reason: 'reset', message: 'lost', sent: true }
    },
    // So that the second batch is sent again without a look-up.
    listHrisUserIdentities: async (input, options) =>
      failing-- > 0 ? failed : await real.listHrisUserIdentities(input, options),
  }))
  const { id } = await world.night(company(), { asOf: '2026-11-22T01:00:00.000Z', full: true })
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)

  await world.minute()

  expect(await world.runOf(id)).toMatchObject({ state: 'finished', confirmed: 100 })
  // The first one, and the second one twice: no date is cleared and set again.
  expect(batches).toBe(3)
})

test.each(['refuses a page', 'repeats a page'])(
  'a list of which the platform $0 is read from its beginning: it blocks nothing, and no date is cleared',
  async (fault) => {
    await using opened = await open()
    const { world } = opened
    let batches = 0
    let faults = 0
    between(world, (real) => ({
      upsertHrisUserIdentities: async (input, options) => {
        batches++
        return await real.upsertHrisUserIdentities(input, options)
      },
      // The page that follows those which were read for the first batch.
      listHrisUserIdentities: async (input, options) => {
        const answer = await real.listHrisUserIdentities({ ...input, query: { ...input.query, size: 25 } }, options)
        const cursor = input.query?.cursor
        if (batches < 2 || faults > 0 || cursor === undefined || answer.status !== 200) return answer
        faults++
        if (fault === 'repeats a page') return { ...answer, body: { ...answer.body, pagination: { cursor } } }
        return { status: 'undeclared', httpStatus: 400, error, retryAfterMs: null }
      },
    }))
    const { id } = await world.night(company(), { asOf: '2026-11-22T01:00:00.000Z', full: true })
    const [state] = await connectionStates(world.sync.store.db)
    world.clock.now = new Date(world.clock.now.getTime() + 60_000)

    await world.minute()

    expect([faults, state?.blocked]).toEqual([1, null])
    expect([(await world.runOf(id)).state, batches]).toEqual(['finished', 2])
  },
)
