import { expect, test, vi } from 'vitest'
import { lazyPlatform } from '../../src/daemon/lazy-platform.ts'
import type { RateLimiter } from '../../src/sync/rate-limit/rate-limiter.ts'

const platform = { baseUrl: 'http://127.0.0.1:9/public/v2', inFlight: 4 } as Parameters<
  typeof lazyPlatform
>[0]['platform']

function opened() {
  const closed = vi.fn(async () => {})
  const paceOf = (remaining: number, lowPriority?: RateLimiter): RateLimiter => ({
    send: async (request) => await request(),
    pause: async () => {},
    readBudget: async () => ({ remaining, msLeft: 0, isOpen: false }),
    get lowPriority() {
      return lowPriority ?? this
    },
  })
  const client = { listConnections: async () => ({ status: 200 }) }
  const way = { ...platform, client, pace: paceOf(9, paceOf(1)), [Symbol.asyncDispose]: closed }
  return { way: way as unknown as Awaited<ReturnType<Parameters<typeof lazyPlatform>[1]>>, closed }
}

test('a way to the platform that nobody takes is neither opened nor closed', async () => {
  const open = vi.fn()

  const way = lazyPlatform({ platform }, open)
  await way[Symbol.asyncDispose]()

  expect(way).toMatchObject({ baseUrl: platform.baseUrl, inFlight: 4 })
  expect(open).not.toHaveBeenCalled()
})

test('a way to the platform is opened once, with its pace and its patient one, and is closed', async () => {
  const { way: real, closed } = opened()
  const open = vi.fn(async () => real)

  const way = lazyPlatform({ platform }, open)
  const standings = await Promise.all([way.rateLimiter.readBudget(), way.rateLimiter.lowPriority.readBudget()])
  const sent = await way.rateLimiter.send(
    async () => ({ status: 'unreachable' }) as never,
    new AbortController().signal,
  )
  await way[Symbol.asyncDispose]()

  expect(open).toHaveBeenCalledTimes(1)
  expect(standings.map(({ remaining }) => remaining)).toEqual([9, 1])
  expect(sent).toEqual({ status: 'unreachable' })
  expect(closed).toHaveBeenCalledTimes(1)
})
