import type { Clock } from '../network/clock.ts'

/** Decides when the requests of a client are sent, also those that are sent side by side. */
export type Pacer = {
  /** Waits until a request may be sent. Rejects once the signal aborts. */
  readonly turn: (signal: AbortSignal) => Promise<void>
  /** No request is sent before that time has passed. */
  readonly pause: (ms: number) => void
}

/** Spaces requests evenly, at most `requestsPerMinute`. */
export function openPacer(requestsPerMinute: number | undefined, clock: Pick<Clock, 'elapsedMs' | 'wait'>): Pacer {
  const intervalMs = requestsPerMinute === undefined ? 0 : 60_000 / requestsPerMinute
  let nextMs = 0
  let resumeMs = 0
  return {
    async turn(signal) {
      const slotMs = Math.max(clock.elapsedMs(), nextMs)
      nextMs = slotMs + intervalMs
      // The pause may have become longer during the wait.
      const missingMs = () => Math.max(slotMs, resumeMs) - clock.elapsedMs()
      for (let waitMs = missingMs(); waitMs > 0; waitMs = missingMs()) await clock.wait(waitMs, signal)
    },
    pause(ms) {
      resumeMs = Math.max(resumeMs, clock.elapsedMs() + ms)
      nextMs = Math.max(nextMs, resumeMs)
    },
  }
}
