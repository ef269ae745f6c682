import type { FastifyInstance } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Refusal } from './refusal.ts'

const minuteSeconds = 60

/**
 * Answers 429 to whoever sends more than so many requests a minute to what lies below `prefix`, before anything else is looked at.
 * A minute begins with the first request of an address; afterwards nothing of the address is kept.
 */
export function limitRequests(
  app: FastifyInstance,
  { prefix, requestsPerMinute }: { prefix: string; requestsPerMinute: number },
): void {
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: minuteSeconds })
  app.addHook('onRequest', async (request) => {
    // The route that was found, since an address can spell its path in more than one way; what leads to none is refused anyway.
    if (!isBelow(prefix, request.routeOptions.url ?? request.url)) return
    const wait = await waitBefore(limiter, request.ip)
    if (wait === null) return
    const message = `no more than ${requestsPerMinute} requests a minute are taken from one address`
    throw new Refusal(429, message, { headers: { 'retry-after': `${wait}` } })
  })
}

/** How many whole seconds an address has to wait, or null where its request is within the limit. */
async function waitBefore(limiter: RateLimiterMemory, address: string): Promise<number | null> {
  try {
    await limiter.consume(address)
    return null
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused
    return Math.max(1, Math.ceil(refused.msBeforeNext / 1000))
  }
}

function isBelow(prefix: string, url: string): boolean {
  return url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`)
}
