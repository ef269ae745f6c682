import { expect, test, vi } from 'vitest'
import { lazyPlatform } from '../../src/daemon/lazy-platform.ts'
import type { RateLimiter } from '../../src/sync/rate-limit/rate-limiter.ts'

type OpenPlatform = Parameters<typeof lazyPlatform>[1]

const platform = { baseUrl: 'http://127.0.0.1:9/public/v2', inFlight: 4 } as Parameters<
  typeof lazyPlatform
>[0]['platform']

function rateLimiter(remaining: number, lowPriority?: RateLimiter): RateLimiter {
  return {
    send: async (request) => await request(),
    pause: async () => {},
    readBudget: async () => ({ remaining, remainingMs: 0, isOpen: false }),
    get lowPriority() {
      return lowPriority ?? this
    },
  }
}

test('a platform client that nobody uses is neither opened nor closed', async () => {
  const open = vi.fn()

  const lazy = lazyPlatform({ platform }, open)
  await lazy[Symbol.asyncDispose]()

  expect(lazy).toMatchObject({ baseUrl: platform.baseUrl, inFlight: 4 })
  expect(open).not.toHaveBeenCalled()
})

test('a platform client is opened once for all of its rate limiters, and is closed', async () => {
  const close = vi.fn(async () => {})
  const client = { listConnections: async () => ({ status: 200 }) }
  const opened = { ...platform, client, rateLimiter: rateLimiter(9, rateLimiter(1)), [Symbol.asyncDispose]: close }
  const open = vi.fn(async () => opened as unknown as Awaited<ReturnType<OpenPlatform>>)

  const lazy = lazyPlatform({ platform }, open)
  const budgets = await Promise.all([lazy.rateLimiter.readBudget(), lazy.rateLimiter.lowPriority.readBudget()])
  const sent = await lazy.rateLimiter.send(
    async () => ({ status: 'unreachable' }) as never,
    new AbortController().signal,
  )
  await lazy[Symbol.asyncDispose]()

  expect(open).toHaveBeenCalledTimes(1)
  expect(budgets.map(({ remaining }) => remaining)).toEqual([9, 1])
  expect(sent).toEqual({ status: 'unreachable' })
  expect(close).toHaveBeenCalledTimes(1)
})
