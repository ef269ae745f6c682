import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import type { AnyAnswer, Unreachable } from '../../../src/http/client/answer.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { createRateLimiter, type RateLimiterOptions } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { databases } from '../../helpers/servers/databases.ts'

const never = new AbortController().signal
/** At least half as long, so that what a test asks for right after has begun before it is over. */
const breaks = { firstMs: 2000, maxMs: 2000 }
const fine: AnyAnswer = { status: 200, body: {}, headers: {} }
const broken: AnyAnswer = {
  status: 'undeclared',
  httpStatus: 503,
  error: { message: 'no', code: null, name: null },
  retryAfterMs: null,
}

describe.each(databases)('the rate limit, stored in $name', ({ createDatabase }) => {
  async function open() {
    const opening = new AsyncDisposableStack()
    onTestFinished(() => opening.disposeAsync())
    const { at } = opening.use(await createDatabase())
    const { pool } = opening.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
    return (options: Partial<RateLimiterOptions> = {}) =>
      createRateLimiter({ pool, platform: 'http://platform.example', requestsPerMinute: 100, inFlight: 4, ...options })
  }

  test('all processes of a store share one budget', async () => {
    const create = await open()
    const processes = [create(), create()]
    const ended = new AbortController()
    let sent = 0

    const attempts = Array.from({ length: 15 }, (_, index) =>
      processes[index % 2]?.send(async () => {
        sent++
        if (sent === 10) setImmediate(() => ended.abort(new Error('enough seen')))
        return fine
      }, ended.signal),
    )
    const outcomes = await Promise.allSettled(attempts)

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    expect(sent).toBe(10)
  })

  test('each platform has its own budget', async () => {
    const create = await open()
    const [one, other] = [create({ platform: 'http://one' }), create({ platform: 'http://other' })]

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other).send(async () => fine, never)),
    )

    expect(answers).toHaveLength(20)
  })

  test('when the platform asks one process to wait, the other waits too', async () => {
    const create = await open()
    const [paused, other] = [create(), create()]
    await paused.pause(700)
    const startedMs = performance.now()

    await other.send(async () => fine, never)

    expect(performance.now() - startedMs).toBeGreaterThan(500)
  })

  test('a shorter pause does not end a longer one', async () => {
    const create = await open()
    const limiter = create()
    await limiter.pause(700)
    const startedMs = performance.now()
    await limiter.pause(1)

    await limiter.send(async () => fine, never)

    expect(performance.now() - startedMs).toBeGreaterThan(500)
  })

  test('low-priority requests leave the rest of the budget and one slot to others', async () => {
    const create = await open()
    const { lowPriority, send } = create({ requestsPerMinute: 100, inFlight: 4 })
    const ended = new AbortController()
    const answer = Promise.withResolvers<void>()
    const three = Promise.withResolvers<void>()
    const begun: string[] = []
    const requestOf = (name: string) => async () => {
      begun.push(name)
      if (begun.length === 3) three.resolve()
      await answer.promise
      return fine
    }

    const patients = Array.from({ length: 20 }, () => lowPriority.send(requestOf('lowPriority'), ended.signal))
    await three.promise
    const short = send(requestOf('short'), never)
    await expect.poll(() => begun).toHaveLength(4)
    const inFlight = [...begun]
    answer.resolve()
    await short
    await expect.poll(() => begun.length).toBe(8)
    await send(requestOf('short'), never)
    ended.abort(new Error('enough seen'))
    await Promise.allSettled(patients)

    expect(inFlight).toEqual(['lowPriority', 'lowPriority', 'lowPriority', 'short'])
    expect(begun.slice(4)).toEqual(['lowPriority', 'lowPriority', 'lowPriority', 'lowPriority', 'short'])
  })

  test('the number of requests in flight is limited', async () => {
    const create = await open()
    const limiter = create({ inFlight: 3, requestsPerMinute: 100_000 })
    const three = Promise.withResolvers<void>()
    let inFlight = 0
    let most = 0

    await Promise.all(
      Array.from({ length: 12 }, () =>
        limiter.send(async () => {
          inFlight++
          most = Math.max(most, inFlight)
          if (inFlight === 3) three.resolve()
          await three.promise
          inFlight--
          return fine
        }, never),
      ),
    )

    expect(most).toBe(3)
  })

  test('after several failures in a row nothing is sent, and then one probe decides for all', async () => {
    const create = await open()
    const limiter = create({ requestsPerMinute: 100_000, circuit: { failures: 3, ...breaks } })
    for (let failure = 0; failure < 3; failure++) await limiter.send(async () => broken, never)
    const whileOpen = (await limiter.send(async () => fine, never)) as Unreachable
    await pause((whileOpen.retryAfterMs ?? 0) + 1)
    const begun: string[] = []
    const probing = Promise.withResolvers<void>()
    const probed = Promise.withResolvers<void>()

    const answers = ['probe', 'second', 'third'].map((name) =>
      limiter.send(async () => {
        begun.push(name)
        probing.resolve()
        if (name === 'probe') await probed.promise
        return fine
      }, never),
    )
    await probing.promise
    await create().send(async () => fine, never)
    const whileProbing = [...begun]
    probed.resolve()
    await Promise.all(answers)

    expect(whileOpen).toMatchObject({ status: 'unreachable', reason: 'withheld', sent: false })
    expect(whileProbing).toEqual(['probe'])
    expect(begun).toEqual(['probe', 'second', 'third'])
  })

  test('a failed probe opens the circuit again, and an answer that is not a failure changes nothing', async () => {
    const create = await open()
    const limiter = create({ requestsPerMinute: 100_000, circuit: { failures: 2, ...breaks } })
    const refused: AnyAnswer = { status: 400, error: { message: 'no', code: null, name: null }, headers: {} }
    for (const answer of [broken, refused, broken]) await limiter.send(async () => answer, never)
    const afterRefusal = await limiter.send(async () => broken, never)
    const open1 = (await limiter.send(async () => fine, never)) as Unreachable
    await pause((open1.retryAfterMs ?? 0) + 1)

    const probe = await limiter.send(async () => broken, never)
    const open2 = await limiter.send(async () => fine, never)

    expect(afterRefusal).toBe(broken)
    expect(probe).toBe(broken)
    expect([open1.status, open2.status]).toEqual(['unreachable', 'unreachable'])
  })

  test('a request that waits for the budget stops when it is aborted', async () => {
    const create = await open()
    const limiter = create()
    await limiter.pause(60_000)
    const stopping = new AbortController()

    const waiting = limiter.send(async () => fine, stopping.signal)
    stopping.abort(new Error('stopped'))

    await expect(waiting).rejects.toThrow('stopped')
  })
})

test('a caller that returns at the announced time finds the circuit ready for a probe', async () => {
  const probes: AnyAnswer[] = []
  for (let round = 0; round < 40; round += 1) {
    const circuit = { failures: 1, firstMs: 8, maxMs: 8 }
    const limiter = createRateLimiter({ pool: null, platform: 'any', requestsPerMinute: 100_000, inFlight: 1, circuit })
    await limiter.send(async () => broken, never)
    const withheld = await limiter.send(async () => broken, never)
    // A process that did not run for eight milliseconds has sent its probe already.
    if (withheld.status !== 'unreachable') continue
    await pause(withheld.retryAfterMs ?? 0)
    probes.push(await limiter.send(async () => broken, never))
  }

  expect(probes.length).toBeGreaterThan(0)
  expect(probes.filter((probe) => probe !== broken)).toEqual([])
})
