import { setTimeout as sleep } from 'node:timers/promises'

/** Time as requests use it. */
export type Clock = {
  /** The time of day. */
  readonly now: () => Date
  /** The milliseconds of a clock that nobody sets. */
  readonly elapsedMs: () => number
  /** Rejects once the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** A number from 0 to 1. It spreads what would otherwise happen at the same moment. */
  readonly random: () => number
}

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => new Date(),
  elapsedMs: () => performance.now(),
  wait: (ms, signal) => sleep(ms, undefined, { signal }),
  random: Math.random,
}
