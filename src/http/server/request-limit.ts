import type { FastifyInstance } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Refusal } from '../refusal.ts'
import { type LimitState, leakyBuckets } from './leaky-bucket.ts'

/**
 * How requests are limited. `minute`: a number of requests per minute, which begins with the first request. `leaky`: a bucket that holds a
 * tenth of that number and leaks evenly.
 */
export type LimitKind = 'minute' | 'leaky'

type LimitOptions = { readonly prefix: string; readonly requestsPerMinute: number; readonly kind?: LimitKind }

/** A limit with its name and its value as `RateLimit-Policy` states them. */
type Limiter = {
  readonly name: string
  readonly policy: string
  /** The limit in words, for the message of a refusal. */
  readonly text: string
  readonly take: (address: string) => Promise<LimitState>
}

const minuteSeconds = 60
const bucketShare = 0.1

/**
 * Answers 429 to an address that sends more than the allowed requests below `prefix`, before anything else is checked. Every response
 * there states how many requests remain. An address that sends nothing is forgotten.
 */
export function limitRequests(
  app: FastifyInstance,
  { prefix, requestsPerMinute, kind = 'minute' }: LimitOptions,
): void {
  const { name, policy, text, take } =
    kind === 'leaky' ? leakyLimiter(requestsPerMinute) : minuteLimiter(requestsPerMinute)
  app.addHook('onRequest', async (request, reply) => {
    // The matched route is used, because a path has several spellings. A path without a route is refused anyway.
    if (!isBelow(prefix, request.routeOptions.url ?? request.url)) return
    const { isWithin, remaining, resetSeconds, retrySeconds } = await take(request.ip)
    reply.headers({ 'ratelimit-policy': policy, ratelimit: `"${name}";r=${remaining};t=${resetSeconds}` })
    if (isWithin) return
    throw new Refusal(429, `one address may send at most ${text}`, {
      headers: { 'retry-after': `${retrySeconds}` },
    })
  })
}

function minuteLimiter(requestsPerMinute: number): Limiter {
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: minuteSeconds })
  return {
    name: 'minute',
    policy: `"minute";q=${requestsPerMinute};w=${minuteSeconds}`,
    text: `${requestsPerMinute} requests a minute`,
    async take(address) {
      const [isWithin, state] = await limiter.consume(address).then(
        (taken) => [true, taken] as const,
        (refused: unknown) => [false, refused] as const,
      )
      if (!(state instanceof RateLimiterRes)) throw state
      const resetSeconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000))
      return { isWithin, remaining: state.remainingPoints, resetSeconds, retrySeconds: resetSeconds }
    },
  }
}

function leakyLimiter(requestsPerMinute: number): Limiter {
  const capacity = Math.max(1, Math.floor(requestsPerMinute * bucketShare))
  const take = leakyBuckets({ capacity, leakPerMinute: requestsPerMinute, nowMs: () => performance.now() })
  const windowSeconds = Math.max(1, Math.ceil((capacity / requestsPerMinute) * minuteSeconds))
  return {
    name: 'bucket',
    policy: `"bucket";q=${capacity};w=${windowSeconds}`,
    text: `${capacity} requests at once and ${requestsPerMinute} a minute`,
    take: async (address) => take(address),
  }
}

function isBelow(prefix: string, url: string): boolean {
  return url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`)
}
