/** A period in which no scheduled run starts: daily between two times of day, or once between two dates with a time. */
export type Blackout = {
  /** `HH:MM`, or `YYYY-MM-DDTHH:MM`; both ends are written the same way. */
  readonly from: string
  readonly to: string
  readonly timeZone: string
  /** The days on which it begins. Default: all. */
  readonly days?: readonly Weekday[]
}

/** The days of the week as settings write them, Monday first. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
type Weekday = (typeof weekdays)[number]

type Window = { readonly from: number; readonly to: number }

/** Maximum number of adjacent windows: more of them leave no time for a run. */
const maxWindowsInARow = 500

/** The first time at or after `at` that lies outside all windows; null if there is none. */
export function freeFrom(blackouts: readonly Blackout[], at: Date): Date | null {
  let atMs = at.getTime()
  for (let passed = 0; passed < maxWindowsInARow; passed++) {
    const window = windowAt(blackouts, atMs)
    if (window === null) return new Date(atMs)
    atMs = window.to
  }
  return null
}

/** The window that a time lies in; null if it lies in none. */
export function windowAt(blackouts: readonly Blackout[], atMs: number): Window | null {
  for (const blackout of blackouts)
    for (const window of windowsAround(blackout, atMs)) if (window.from <= atMs && atMs < window.to) return window
  return null
}

/** The one window of a dated blackout; of a daily one, those that begin on this day or the day before. */
function windowsAround({ from, to, timeZone, days }: Blackout, atMs: number): Window[] {
  if (from.includes('T')) {
    const [begins, ends] = [from, to].map((text) => Temporal.PlainDateTime.from(text))
    return begins && ends ? [windowOf(begins, ends, timeZone)] : []
  }
  const [begins, ends] = [Temporal.PlainTime.from(from), Temporal.PlainTime.from(to)]
  const overnight = Temporal.PlainTime.compare(ends, begins) <= 0
  const today = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone).toPlainDate()
  return [today.subtract({ days: 1 }), today].flatMap((day) => {
    if (days && !days.includes(weekdays[day.dayOfWeek - 1] ?? 'mon')) return []
    const lastDay = overnight ? day.add({ days: 1 }) : day
    return [windowOf(day.toPlainDateTime(begins), lastDay.toPlainDateTime(ends), timeZone)]
  })
}

// If an end falls into a skipped or repeated hour, the earlier start and the later end apply.
function windowOf(from: Temporal.PlainDateTime, to: Temporal.PlainDateTime, timeZone: string): Window {
  return {
    from: from.toZonedDateTime(timeZone, { disambiguation: 'earlier' }).epochMilliseconds,
    to: to.toZonedDateTime(timeZone, { disambiguation: 'later' }).epochMilliseconds,
  }
}
