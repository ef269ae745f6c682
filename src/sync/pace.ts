import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** The budget of requests to one platform, shared by everything in this process that talks to it. */
export type Pace = {
  /** Resolves when one more request may go out; rejects when `signal` aborts. */
  take(signal: AbortSignal): Promise<void>
  /** Lets nobody send for so long: the platform asked for patience. */
  pause(delayMs: number): void
}

export function createPace({ requestsPerMinute }: { requestsPerMinute: number }): Pace {
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: 60 })
  let pausedUntilMs = 0

  async function take(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const waitMs = Math.max(pausedUntilMs - performance.now(), await untilPermitted())
      if (waitMs <= 0) return
      await sleep(waitMs, undefined, { signal })
    }
  }

  async function untilPermitted(): Promise<number> {
    if (performance.now() < pausedUntilMs) return 0
    try {
      await limiter.consume('platform')
      return 0
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return Math.max(refusal.msBeforeNext, 1)
      throw refusal
    }
  }

  return {
    take,
    pause(delayMs) {
      pausedUntilMs = Math.max(pausedUntilMs, performance.now() + delayMs)
    },
  }
}
