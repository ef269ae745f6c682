import type { FastifyInstance } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Refusal } from '../refusal.ts'

const minuteSeconds = 60

/**
 * Answers 429 to an address that sends more than the allowed requests per minute below `prefix`, before anything else is checked. Every
 * response there states how many requests remain. A minute begins with the first request of an address; afterwards the address is
 * forgotten.
 */
export function limitRequests(
  app: FastifyInstance,
  { prefix, requestsPerMinute }: { prefix: string; requestsPerMinute: number },
): void {
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: minuteSeconds })
  app.addHook('onRequest', async (request, reply) => {
    // The matched route is used, because a path has several spellings. A path without a route is refused anyway.
    if (!isBelow(prefix, request.routeOptions.url ?? request.url)) return
    const { isWithin, remaining, resetSeconds } = await consume(limiter, request.ip)
    reply.headers({
      'ratelimit-policy': `"minute";q=${requestsPerMinute};w=${minuteSeconds}`,
      ratelimit: `"minute";r=${remaining};t=${resetSeconds}`,
    })
    if (isWithin) return
    const message = `no more than ${requestsPerMinute} requests a minute are taken from one address`
    throw new Refusal(429, message, { headers: { 'retry-after': `${resetSeconds}` } })
  })
}

/** Counts one request of an address. Returns whether it is within the limit, and in how many whole seconds the minute ends. */
async function consume(limiter: RateLimiterMemory, address: string) {
  const [isWithin, state] = await limiter.consume(address).then(
    (taken) => [true, taken] as const,
    (refused: unknown) => [false, refused] as const,
  )
  if (!(state instanceof RateLimiterRes)) throw state
  return {
    isWithin,
    remaining: state.remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1000)),
  }
}

function isBelow(prefix: string, url: string): boolean {
  return url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`)
}
