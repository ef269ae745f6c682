const secondsPerDay = 86_400
/** The last day that Excel shows: 9999-12-31. */
const maxSerial = 2_958_465
const daysBetweenSystems = 1462
/** Excel counts a 29 February 1900, which did not exist, so serials below 60 are one day lower. */
const phantomDay = 60
const msPerDay = secondsPerDay * 1000
const firstDayMs = Date.UTC(1899, 11, 31)

/** The last day whose text is cached, in the year 2078. */
const maxCachedDay = 65_000
const cachedDays = new Map<number, string>()

/** A day and time as Excel counts them: days since the beginning of 1900, or of 1904. */
type Serial = { readonly value: number; readonly isFrom1904: boolean }

/** The text of a date in ISO 8601, or why there is none. */
type DateText = { readonly text: string } | { readonly reason: string }

/**
 * A date such as 2026-11-30, with `shows` dateTime also its time unless that is midnight: 2026-11-30T17:30:00; with `shows` time the time
 * alone. The number 0, which formulas make of blank cells, becomes 1900-01-00, as Excel shows it.
 */
export function dateText({ value, isFrom1904 }: Serial, shows: 'date' | 'dateTime' | 'time'): DateText {
  if (!Number.isFinite(value)) return { reason: 'the cell holds a date after the year 9999' }
  if (value < 0) return { reason: 'the cell holds a negative date, which Excel cannot show' }
  let day = Math.floor(value)
  let seconds = Math.round((value - day) * secondsPerDay)
  if (seconds === secondsPerDay) {
    day += 1
    seconds = 0
  }
  const time = timeText(seconds)
  if (shows === 'time') return { text: time }
  const serial = isFrom1904 ? day + daysBetweenSystems : day
  if (serial > maxSerial) return { reason: 'the cell holds a date after the year 9999' }
  if (serial === phantomDay) return { reason: 'the cell holds 29 February 1900, which did not exist' }
  const date = serial === 0 ? '1900-01-00' : dayText(serial > phantomDay ? serial - 1 : serial)
  return { text: shows === 'dateTime' && seconds > 0 ? `${date}T${time}` : date }
}

/** The same for a cell that holds a date in ISO 8601 as text, such as 2026-11-30T00:00:00. */
export function isoDateText(text: string): DateText {
  const [, date, time = ''] = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2})?)(?:\.0+)?(?:Z)?)?$/.exec(text) ?? []
  if (date === undefined) return { reason: 'the cell holds a date that is not written in ISO 8601' }
  return { text: /^[0:]*$/.test(time) ? date : `${date}T${time}` }
}

/** The text of a day. Dates of people repeat, and writing each one anew would take a tenth of the time of reading a sheet. */
function dayText(days: number): string {
  if (days > maxCachedDay) return writtenDay(days)
  return cachedDays.getOrInsertComputed(days, writtenDay)
}

function writtenDay(days: number): string {
  return new Date(firstDayMs + days * msPerDay).toISOString().slice(0, 10)
}

function timeText(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}
