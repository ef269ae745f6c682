import { databaseFailure } from '../database/failures.ts'
import type { Events } from '../telemetry/events.ts'

const silentMs = 60_000

/**
 * Events that tell of a store that is away, or cannot work, once a minute and with how often it was noticed. What runs every second
 * would otherwise fill the log with the same error.
 */
export function withOutages(events: Events, nowMs: () => number = () => performance.now()): Events {
  let toldAtMs = Number.NEGATIVE_INFINITY
  let times = 0
  return {
    ...events,
    unexpected(fields) {
      const failure = databaseFailure(fields.error)
      if (failure === null) return events.unexpected(fields)
      times += 1
      if (nowMs() - toldAtMs < silentMs) return
      events.storeUnreachable({ during: fields.during, reason: failure.message, times })
      toldAtMs = nowMs()
      times = 0
    },
  }
}
