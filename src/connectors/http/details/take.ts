import { flattenRecord, type JsonObject, type JsonValue } from '../../json/cells.ts'
import type { Each, Join } from '../settings/details.ts'

/** Which of several details of a record is used. */
export type Take = (Each | Join)['take']

/** The detail that is used, or why none of them can be. */
type TakenDetail = { readonly detail: JsonValue } | { readonly problem: string }

/** The day on which a list is read, in the time zone of the source, as the dates of details are compared with it. */
export type ReadingDay = { readonly today: string; readonly timeZone: string }

/** Chooses from the details of a record, of which there is at least one. */
export function takeDetail(take: Take, details: readonly [JsonObject, ...JsonObject[]], day: ReadingDay): TakenDetail {
  const [first] = details
  if (take === 'all') return { detail: details }
  if (take === 'first' || details.length === 1) return { detail: first }
  const [order, , column] = take.split(' ')
  if (column === undefined) return { problem: 'there are several, and take is only' }
  const extreme = extremeOf(details, column, order === 'current' ? day : order === 'latest')
  const problem = `there are several, and ${column} does not decide: it is blank, equal, or no ISO date`
  return extreme === null ? { problem } : { detail: extreme }
}

/**
 * The detail with the latest or earliest time in a column, or with a day the latest one that has begun by then: what lies ahead takes
 * effect on its day. Before all of them the first one to begin is taken. Null if a time cannot be read or two details share that time.
 */
function extremeOf(details: readonly JsonObject[], column: string, isLatest: boolean | ReadingDay): JsonObject | null {
  const timed = details.map((detail) => ({ detail, time: timeOf(flattenRecord(detail).cells.get(column)) }))
  const isComparable = timed.every(({ time }) => time !== null && time.kind === timed[0]?.time?.kind)
  if (!isComparable) return null
  const sorted = timed.toSorted((a, b) => compareTimes(a.time, b.time))
  const begun = typeof isLatest === 'object' ? sorted.filter(({ time }) => dayOf(time, isLatest) <= isLatest.today) : []
  const isLast = isLatest === true || begun.length > 0
  const [top, second] = isLast ? (begun.length > 0 ? begun : sorted).toReversed() : sorted
  return top === undefined || compareTimes(top.time, second?.time ?? null) === 0 ? null : top.detail
}

/** A date or time whose texts compare as the times do. Dates, local times and instants are not comparable with each other. */
type ComparableTime = { readonly kind: 'date' | 'local' | 'instant'; readonly text: string }

const isoTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?<offset>Z|[+-]\d{2}(?::?\d{2})?)?)?$/i

function timeOf(text = ''): ComparableTime | null {
  const match = isoTime.exec(text)
  if (!match) return null
  try {
    if (text.length === 10) return { kind: 'date', text: Temporal.PlainDate.from(text).toString() }
    if (match.groups?.offset === undefined)
      return { kind: 'local', text: Temporal.PlainDateTime.from(text).toString({ fractionalSecondDigits: 9 }) }
    return { kind: 'instant', text: Temporal.Instant.from(text).toString({ fractionalSecondDigits: 9 }) }
  } catch {
    return null
  }
}

/** The date of a time. A local time is one of the source. */
function dayOf(time: ComparableTime | null, { timeZone }: ReadingDay): string {
  if (time?.kind !== 'instant') return time?.text.slice(0, 10) ?? ''
  return Temporal.Instant.from(time.text).toZonedDateTimeISO(timeZone).toPlainDate().toString()
}

function compareTimes(a: ComparableTime | null, b: ComparableTime | null): number {
  const [first = '', second = ''] = [a?.text, b?.text]
  return first < second ? -1 : first > second ? 1 : 0
}
