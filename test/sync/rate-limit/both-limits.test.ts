import { expect, test } from 'vitest'
import type { AnyAnswer } from '../../../src/http/client/answer.ts'
import type { LimitKind } from '../../../src/http/server/request-limit.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { createRateLimiter } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { between, change, type HrPerson, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

const requestsPerMinute = 300
/** The share of the platform's limit that the daemon uses by default: 450 of 500. */
const usedShare = 0.9
const leavers = 8

/** A platform with a limit, and a daemon that has delivered some people and sends each departure alone. */
async function open(rateLimit: LimitKind) {
  await using opening = new AsyncDisposableStack()
  const host = opening.use(await startHost(undefined, { requestsPerMinute, rateLimit }))
  const { client } = await host.tenant()
  const guards = Guards.parse({ leavers: { count: leavers, share: 1 } })
  const world = opening.use(await openWorld({ client, connection: { guards } }))
  const { pool } = world.sync.store
  const budget = { pool, platform: rateLimit, requestsPerMinute: requestsPerMinute * usedShare, inFlight: 4 }
  Object.assign(world.sync, { platform: { ...world.sync.platform, rateLimiter: createRateLimiter(budget) } })
  const refusals: AnyAnswer[] = []
  const counting = (call: (...input: never[]) => Promise<AnyAnswer>) => {
    return async (...input: never[]) => {
      const answer = await call(...input)
      if (answer.status === 'undeclared' && answer.httpStatus === 429) refusals.push(answer)
      return answer
    }
  }
  between(world, (real) => Object.fromEntries(Object.entries(real).map(([name, call]) => [name, counting(call)])))
  const people = staff(leavers)
  await world.night(people)
  Object.assign(world.connection.delivery, { batchSize: 1 })
  const opened = opening.move()
  return {
    refusals,
    separated: async () => [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null),
    /** Uses up what the limit allows just now, as another program behind the same address would. */
    async exhaust() {
      while ((await fetch(host.platform.baseUrl)).status !== 429);
    },
    /** Delivers the departure of everybody, and returns the run when it has ended. */
    async deliverDepartures() {
      const departures = change(people, ...people.map(({ id }): HrPerson => ({ id, leavingDate: '2026-11-10' })))
      const run = await world.night(departures, { asOf: '2026-11-21T01:00:00.000Z' })
      for (let hours = 0; hours < 20 && (await world.runOf(run.id)).state === 'delivering'; hours++) {
        world.clock.now = new Date(world.clock.now.getTime() + 61 * 60_000)
        await world.minute()
      }
      return await world.runOf(run.id)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

test.each<LimitKind>(['minute', 'leaky'])(
  'the daemon stays within the limit "%s" by itself, and delivers everything',
  async (rateLimit) => {
    await using opened = await open(rateLimit)

    const run = await opened.deliverDepartures()

    expect(run).toMatchObject({ state: 'finished', confirmed: leavers })
    expect(await opened.separated()).toHaveLength(leavers)
    expect(opened.refusals).toEqual([])
  },
)

test('the daemon delivers everything when somebody else has filled the bucket', { tags: ['full'] }, async () => {
  await using opened = await open('leaky')
  await opened.exhaust()

  const run = await opened.deliverDepartures()

  expect(run).toMatchObject({ state: 'finished', confirmed: leavers })
  expect(await opened.separated()).toHaveLength(leavers)
  expect(opened.refusals).not.toEqual([])
})
