import { RateLimiterMemory } from 'rate-limiter-flexible'
import { Refusal } from '../../http/refusal.ts'
import { countRefusals } from '../../http/server/refusal-counts.ts'
import type { Events } from '../../telemetry/events.ts'

/** Counts failed sign-ins by address, in this process: a restart begins at zero. */
export type Attempts = Disposable & {
  /** Throws a refusal (429) for an address that failed too often, until its minute is over. */
  check(address: string): Promise<void>
  /** Counts a failed attempt and logs it. */
  failed(address: string, reason: string): Promise<void>
  /** Logs a failure that is not the sender's fault, without counting it. */
  log(address: string, reason: string): void
}

/** How many failed attempts an address has in a minute. */
export const attemptsPerMinute = 20
const windowSeconds = 60

/** Counts attempts, starting at zero. */
export function createAttempts(events: Pick<Events, 'controlRefused'>): Attempts {
  const failures = new RateLimiterMemory({ points: attemptsPerMinute, duration: windowSeconds })
  const refusals = countRefusals(({ subject: _subject, ...refused }) => events.controlRefused(refused))
  return {
    async check(address) {
      const record = await failures.get(address)
      if (record === null || record.consumedPoints < attemptsPerMinute) return
      const headers = { 'retry-after': `${Math.max(1, Math.ceil(record.msBeforeNext / 1000))}` }
      throw new Refusal(429, 'too many wrong tokens came from this address; try again later', { headers })
    },
    async failed(address, reason) {
      await failures.penalty(address)
      this.log(address, reason)
    },
    log(address, reason) {
      refusals.count({ subject: 'control', reason, sender: address })
    },
    [Symbol.dispose]: () => refusals[Symbol.dispose](),
  }
}
