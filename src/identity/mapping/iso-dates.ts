/** The format name for all forms of ISO 8601 and RFC 3339. */
export const isoFormat = 'iso'

// A calendar date, a week date or an ordinal date; each with hyphens or without.
const day =
  /(?<year>\d{4})(?:-(?<month>\d{2})-(?<day>\d{2})|(?<month>\d{2})(?<day>\d{2})|-?W(?<week>\d{2})-?(?<weekday>[1-7])|-?(?<ordinal>\d{3}))/
const time = /(?<hour>\d{2})(?::?(?<minute>\d{2})(?::?(?<second>\d{2})(?:[.,](?<fraction>\d{1,18}))?)?)?/
const offset = /(?<offset>Z|[+-]\d{2}(?::?\d{2})?)/
// Java's ZonedDateTime adds the name of the zone in brackets. The offset before it decides.
const pattern = new RegExp(`^${day.source}(?:[T ]${time.source}(?:${offset.source}(?:\\[[\\w/+-]{1,64}\\])?)?)?$`, 'i')

/** The parts of an ISO 8601 date with or without a time, as digits; null for anything else. */
export function isoParts(text: string): Readonly<Record<string, string | undefined>> | null {
  const parts = pattern.exec(text)?.groups
  if (parts === undefined) return null
  const calendar = parts.month === undefined ? calendarDay(parts) : {}
  return calendar && { ...parts, ...calendar }
}

/** The month and the day of a week date or an ordinal date; null for a day that does not exist. */
function calendarDay({ year, week, weekday, ordinal }: Readonly<Record<string, string | undefined>>) {
  const january = Temporal.PlainDate.from({ year: Number(year), month: 1, day: 1 })
  // The fourth of January lies in the first week.
  const fourth = january.with({ day: 4 })
  const date =
    ordinal === undefined
      ? fourth.add({ days: (Number(week) - 1) * 7 + Number(weekday) - fourth.dayOfWeek })
      : january.add({ days: Number(ordinal) - 1 })
  const isThatDay = ordinal === undefined ? date.weekOfYear === Number(week) : date.dayOfYear === Number(ordinal)
  return isThatDay
    ? { year: padNumber(date.year, 4), month: padNumber(date.month, 2), day: padNumber(date.day, 2) }
    : null
}

function padNumber(number: number, digits: number): string {
  return String(number).padStart(digits, '0')
}
