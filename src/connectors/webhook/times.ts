/** The formats of a time: a whole number of seconds or milliseconds since 1970, or ISO 8601. */
export const timeUnits = ['seconds', 'milliseconds', 'iso', 'secondsOrIso'] as const
type TimeUnit = (typeof timeUnits)[number]

/** The units as messages call them. */
export const unitNames = {
  seconds: 'seconds since 1970',
  milliseconds: 'milliseconds since 1970',
  iso: 'ISO 8601 with date and time',
  secondsOrIso: 'seconds since 1970 or ISO 8601',
} as const satisfies Record<TimeUnit, string>

const wholeNumber = /^(?:0|[1-9]\d{0,15})$/
const isoTime = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?<offset>Z|[+-]\d{2}:?\d{2})?$/
const latestEpochMs = Date.UTC(9999, 11, 31)

/** `timeZone`: for times without an offset. */
type TimeFormat = { readonly unit: TimeUnit; readonly timeZone?: string }

/** Parses a time into milliseconds since 1970. Returns null for any other text, and for a time without an offset if no zone is given. */
export function readEpochMs(text: string, { unit, timeZone }: TimeFormat): number | null {
  const epochMs = unit === 'iso' ? fromIso(text, timeZone) : fromNumber(text, unit)
  if (epochMs === null && unit === 'secondsOrIso') return fromIso(text, timeZone)
  return epochMs !== null && epochMs <= latestEpochMs ? epochMs : null
}

/** The text of an instant in a unit. */
export function writeTime(instant: Date, unit: TimeUnit): string {
  switch (unit) {
    case 'seconds':
    case 'secondsOrIso':
      return String(Math.floor(instant.getTime() / 1000))
    case 'milliseconds':
      return String(instant.getTime())
    case 'iso':
      return instant.toISOString()
    default:
      return unit satisfies never
  }
}

function fromNumber(text: string, unit: Exclude<TimeUnit, 'iso'>): number | null {
  if (!wholeNumber.test(text)) return null
  return unit === 'milliseconds' ? Number(text) : Number(text) * 1000
}

function fromIso(text: string, timeZone: string | undefined): number | null {
  const match = isoTime.exec(text)
  if (!match) return null
  try {
    if (match.groups?.offset !== undefined) return Temporal.Instant.from(text).epochMilliseconds
    if (timeZone === undefined) return null
    return Temporal.PlainDateTime.from(text).toZonedDateTime(timeZone).epochMilliseconds
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
