import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../../src/connectors/http/network/clock.ts'

/** A clock whose waits take no time, and the waits so far. Backoff is not spread. */
export function testClock(): Omit<Clock, 'now'> & { readonly waits: readonly number[] } {
  const waits: number[] = []
  let elapsedMs = 0
  return {
    waits,
    elapsedMs: () => elapsedMs,
    async wait(ms, signal) {
      waits.push(ms)
      elapsedMs += ms
      await setImmediate()
      signal.throwIfAborted()
    },
    random: () => 1,
  }
}
