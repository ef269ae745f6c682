import { RateLimiterMemory } from 'rate-limiter-flexible'
import { Refusal } from '../../http/refusal.ts'
import { countRefusals } from '../../http/server/refusal-counts.ts'
import type { Events } from '../../telemetry/events.ts'

/** Counts what did not let anybody in, per address, in this process: a restart begins at zero. */
export type Attempts = Disposable & {
  /** Refuses an address that has failed too often, until its minute is over. */
  check(address: string): Promise<void>
  /** Counts a failed attempt, and tells the log of it. */
  failed(address: string, reason: string): Promise<void>
  /** Tells the log of what let no one in, and was no fault of theirs. */
  tell(address: string, reason: string): void
}

export const attemptsPerMinute = 20
const windowSeconds = 60

export function createAttempts(events: Pick<Events, 'controlRefused'>): Attempts {
  const failures = new RateLimiterMemory({ points: attemptsPerMinute, duration: windowSeconds })
  const refusals = countRefusals(({ what: _what, ...refused }) => events.controlRefused(refused))
  return {
    async check(address) {
      const made = await failures.get(address)
      if (made === null || made.consumedPoints < attemptsPerMinute) return
      const headers = { 'retry-after': `${Math.max(1, Math.ceil(made.msBeforeNext / 1000))}` }
      throw new Refusal(429, 'too many wrong tokens came from this address; try again later', { headers })
    },
    async failed(address, reason) {
      await failures.penalty(address)
      this.tell(address, reason)
    },
    tell(address, reason) {
      refusals.count({ what: 'control', reason, sender: address })
    },
    [Symbol.dispose]: () => refusals[Symbol.dispose](),
  }
}
