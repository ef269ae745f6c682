import { unreadable } from '../file/failures.ts'
import type { JsonValue } from '../json/cells.ts'
import type { AnswerHeaders } from './fetch.ts'
import type { HttpSource } from './settings.ts'

const dayMs = 24 * 60 * 60 * 1000

type Facts = {
  readonly headers: AnswerHeaders
  /** The value at the pointer in the first page. */
  readonly stated?: JsonValue
  /** Before the first request was sent. */
  readonly startedAt: Date
  readonly where: string
}

/** The instant (ISO, UTC) at which the rows of an answer were true. An instant in the future is refused, because no later answer could ever replace it. */
export function asOfAnswer({ asOf, timeZone }: HttpSource, facts: Facts): string {
  switch (asOf.from) {
    case 'request':
      return facts.startedAt.toISOString()
    case 'lastModified':
      return checked(Date.parse(String(facts.headers['last-modified'])), 'the header Last-Modified', facts)
    case 'pointer':
      return checked(epochMsOf(facts.stated, timeZone), asOf.pointer, facts)
    default:
      return asOf satisfies never
  }
}

function epochMsOf(stated: JsonValue | undefined, timeZone: string): number {
  if (typeof stated !== 'string') return Number.NaN
  try {
    return Temporal.Instant.from(stated).epochMilliseconds
  } catch {
    return localEpochMsOf(stated, timeZone)
  }
}

function localEpochMsOf(stated: string, timeZone: string): number {
  try {
    return Temporal.PlainDateTime.from(stated).toZonedDateTime(timeZone).epochMilliseconds
  } catch {
    return Number.NaN
  }
}

function checked(epochMs: number, place: string, { startedAt, where }: Facts): string {
  if (Number.isNaN(epochMs)) throw unreadable(`${where} holds no time at ${place}`, 'check asOf in the configuration')
  const instant = new Date(epochMs).toISOString()
  if (epochMs <= startedAt.getTime() + dayMs) return instant
  const what = `${where} is dated ${instant}, which lies ahead of this machine's time ${startedAt.toISOString()}`
  throw unreadable(what, 'check the clocks, and asOf and timeZone in the configuration')
}
