import { type DateFormatOptions, fractionDigits, hasOffset, monthsByName, patternOf } from './date-formats.ts'
import { isoFormat, isoParts } from './iso-dates.ts'

const firstYear = 1900
const lastYear = 2199
const maxOffsetHours = 18

// A column has few different dates, so results are cached. The limit keeps a column of nonsense from filling the memory.
const remembered = 20_000

/**
 * Reads calendar dates strictly in declared formats. Returns null for any other text and for days that do not exist. The day of a time
 * without an offset is the day as written; the day of an instant (a time with an offset) is its day in `timeZone`.
 */
type DateReader = (text: string, timeZone: string) => string | null

/** A reader for formats without problems. Returns dates as `YYYY-MM-DD`. */
export function dateReader(
  formats: readonly string[],
  formatOptions: DateFormatOptions & { readonly addDays?: number } = {},
): DateReader {
  const parsers = formats.map((format) => momentParser(format, formatOptions))
  const { addDays = 0 } = formatOptions
  const zoneMatters = formats.some(hasOffset)
  const known = new Map<string, string | null>()

  return (text, timeZone) => {
    const key = zoneMatters ? `${timeZone} ${text}` : text
    const before = known.get(key)
    if (before !== undefined) return before
    const date = shiftDays(dayOf(firstMoment(parsers, text), timeZone), addDays)
    if (known.size >= remembered) known.clear()
    known.set(key, date)
    return date
  }
}

/**
 * A reader of moments in one format: it returns texts that sort like their moments. If texts of the format may or may not be instants, the
 * results for instants end with Z.
 */
export function momentReader(format: string, formatOptions: DateFormatOptions = {}): (text: string) => string | null {
  const parse = momentParser(format, formatOptions)
  const fractionalSecondDigits = fractionDigits(format) > 3 ? 9 : 3
  return (text) => {
    const moment = parse(text)
    if (moment === null) return null
    const { local, offset } = moment
    const utc = offset === null ? local : local.toZonedDateTime(offset).withTimeZone('UTC').toPlainDateTime()
    return `${utc.toString({ fractionalSecondDigits })}${format === isoFormat && offset !== null ? 'Z' : ''}`
  }
}

/** A reader of instants. Returns RFC 3339. A time without an offset is in `timeZone`; a day without a time begins in UTC. */
export function instantReader(
  formats: readonly string[],
  { addDays = 0, ...formatOptions }: DateFormatOptions & { readonly addDays?: number } = {},
): (text: string, timeZone: string) => string | null {
  const parsers = formats.map((format) => momentParser(format, formatOptions))
  return (text, timeZone) => {
    const moment = firstMoment(parsers, text)
    if (moment === null) return null
    const { local, offset, isDay } = moment
    const zone = offset ?? (isDay ? 'UTC' : timeZone)
    const instant = local.add({ days: addDays }).toZonedDateTime(zone).toInstant()
    return instant.toString({ smallestUnit: 'millisecond' })
  }
}

type Moment = {
  readonly local: Temporal.PlainDateTime
  readonly offset: string | null
  /** Whether it has no time of the day. */
  readonly isDay: boolean
}
type MomentParser = (text: string) => Moment | null

function momentParser(format: string, formatOptions: DateFormatOptions): MomentParser {
  const parts = partsReader(format, formatOptions)
  return (text) => {
    const values = parts(text.normalize('NFC'))
    if (values === null) return null
    const { year = '', month, day, hour = '0', halfDay, minute = '0', second = '0', fraction = '', offset } = values
    const digits = fraction.padEnd(9, '0')
    const fields = {
      year: yearOf(year, formatOptions.pivot),
      month: Number(month),
      day: Number(day),
      hour: hourOf(Number(hour), halfDay),
      minute: Number(minute),
      second: Number(second),
      millisecond: Number(digits.slice(0, 3)),
      microsecond: Number(digits.slice(3, 6)),
      nanosecond: Number(digits.slice(6, 9)),
    }
    if (!isYear(fields.year) || !isOffset(offset)) return null
    const local = dateTimeFrom(fields)
    const isDay = values.hour === undefined
    return local && { local, offset: offset === undefined ? null : zoneOfOffset(offset), isDay }
  }
}

type Parts = Readonly<Record<string, string | undefined>>

/** Splits a text of the format into its parts; the month is a number. */
function partsReader(format: string, formatOptions: DateFormatOptions): (text: string) => Parts | null {
  if (format === isoFormat) return isoParts
  const pattern = patternOf(format, formatOptions)
  const months = monthsByName(format, formatOptions)
  return (text) => {
    const groups = pattern.exec(text)?.groups
    if (groups === undefined || months === undefined) return groups ?? null
    return { ...groups, month: String(months.get(groups.month?.toLowerCase() ?? '')) }
  }
}

function firstMoment(parsers: readonly MomentParser[], text: string): Moment | null {
  for (const parse of parsers) {
    const moment = parse(text)
    if (moment !== null) return moment
  }
  return null
}

function dayOf(moment: Moment | null, timeZone: string): Temporal.PlainDate | null {
  if (moment === null) return null
  const { local, offset } = moment
  if (offset === null) return local.toPlainDate()
  return local.toZonedDateTime(offset).withTimeZone(timeZone).toPlainDate()
}

function shiftDays(date: Temporal.PlainDate | null, days: number): string | null {
  if (date === null) return null
  return (days === 0 ? date : date.add({ days })).toString()
}

/** The year that two digits mean: one of the hundred years that end with the pivot. */
function yearOf(digits: string, pivot: number | undefined): number {
  if (digits.length !== 2 || pivot === undefined) return Number(digits)
  const last = pivot % 100
  const century = pivot - last
  return Number(digits) <= last ? century + Number(digits) : century - 100 + Number(digits)
}

function isYear(year: number): boolean {
  return year >= firstYear && year <= lastYear
}

/** The hour of a 24-hour clock; 24, which is invalid, for an hour that 12-hour clocks do not have. */
function hourOf(hour: number, halfDay: string | undefined): number {
  if (halfDay === undefined) return hour
  if (hour < 1 || hour > 12) return 24
  return (hour % 12) + (halfDay.toLowerCase() === 'pm' ? 12 : 0)
}

function isOffset(offset: string | undefined): boolean {
  if (offset === undefined || /z/i.test(offset)) return true
  return Number(offset.slice(1, 3)) <= maxOffsetHours && Number(offset.slice(3).replace(':', '')) < 60
}

function zoneOfOffset(offset: string): string {
  if (/z/i.test(offset)) return 'UTC'
  return `${offset.slice(0, 3)}:${offset.slice(3).replace(':', '').padEnd(2, '0')}`
}

function dateTimeFrom(fields: Temporal.PlainDateTimeLike): Temporal.PlainDateTime | null {
  try {
    return Temporal.PlainDateTime.from(fields, { overflow: 'reject' })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
