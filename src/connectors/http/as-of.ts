import { requirePast } from '../file/as-of.ts'
import { unreadable } from '../file/failures.ts'
import type { JsonValue } from '../json/cells.ts'
import type { HttpSource } from './settings/settings.ts'

type ResponseTimes = {
  /** The time in the header Last-Modified, with several pages the earliest of them; NaN if one is missing. */
  readonly lastModifiedMs: number
  /** The value at the pointer in the first page. */
  readonly statedTime?: JsonValue
  /** Before the first request was sent. */
  readonly startedAt: Date
  readonly label: string
}

/** The as-of time of the rows of a response (ISO, UTC). Refuses one in the future. */
export function asOfResponse({ asOf, timeZone }: HttpSource, times: ResponseTimes): string {
  const { lastModifiedMs, statedTime, startedAt, label } = times
  switch (asOf.from) {
    case 'request':
      return startedAt.toISOString()
    case 'lastModified':
      return requirePast(requireTime(lastModifiedMs, 'the header Last-Modified', label), label, startedAt)
    case 'pointer': {
      const epochMs = parseTime(statedTime, timeZone)
      return requirePast(requireTime(epochMs, asOf.pointer, label), label, startedAt)
    }
    default:
      return asOf satisfies never
  }
}

function parseTime(stated: JsonValue | undefined, timeZone: string): number {
  if (typeof stated !== 'string') return Number.NaN
  try {
    return Temporal.Instant.from(stated).epochMilliseconds
  } catch {
    return parseLocalTime(stated, timeZone)
  }
}

function parseLocalTime(stated: string, timeZone: string): number {
  try {
    return Temporal.PlainDateTime.from(stated).toZonedDateTime(timeZone).epochMilliseconds
  } catch {
    return Number.NaN
  }
}

function requireTime(epochMs: number, location: string, label: string): number {
  if (!Number.isNaN(epochMs)) return epochMs
  throw unreadable(`${label} holds no time at ${location}`, 'check asOf in the configuration')
}
