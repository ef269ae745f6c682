import { databaseFailure } from '../database/failures.ts'
import type { Events } from '../telemetry/events.ts'

const reportIntervalMs = 60_000

/**
 * Events that report an unreachable or failing store at most once a minute, with the number of errors since the last report. Tasks that
 * run every second would otherwise fill the log with one error.
 */
export function withOutages(events: Events, nowMs: () => number = () => performance.now()): Events {
  let reportedAtMs = Number.NEGATIVE_INFINITY
  let times = 0
  return {
    ...events,
    unexpected(fields) {
      const failure = databaseFailure(fields.error)
      if (failure === null) return events.unexpected(fields)
      times += 1
      if (nowMs() - reportedAtMs < reportIntervalMs) return
      events.storeUnreachable({ during: fields.during, reason: failure.message, times })
      reportedAtMs = nowMs()
      times = 0
    },
  }
}
