const firstYear = 1900
const lastYear = 2199

// A column of dates holds few different ones, so each is parsed once; the cap keeps a column of nonsense from filling the memory.
const remembered = 20_000

const tokens = {
  yyyy: { unit: 'year', pattern: '(?<year>\\d{4})', fixed: true },
  MM: { unit: 'month', pattern: '(?<month>\\d{2})', fixed: true },
  M: { unit: 'month', pattern: '(?<month>\\d{1,2})', fixed: false },
  dd: { unit: 'day', pattern: '(?<day>\\d{2})', fixed: true },
  d: { unit: 'day', pattern: '(?<day>\\d{1,2})', fixed: false },
} as const

type Token = keyof typeof tokens

/** Why a date format cannot be used, or null. A format is made of yyyy, MM or M, dd or d, and signs between them. */
export function dateFormatProblem(format: string): string | null {
  const parts = format.match(/\p{L}+|[^\p{L}]+/gu) ?? []
  const letters = parts.flatMap(splitRun)
  const unknown = letters.find((part) => /^\p{L}/u.test(part) && !isToken(part))
  if (unknown === 'yy' || unknown === 'y') return 'a year needs four digits: write yyyy'
  if (unknown !== undefined) return `"${unknown}" is not understood: a format holds yyyy, MM or M, dd or d`

  const found = letters.filter(isToken)
  const units = found.map((token) => tokens[token].unit)
  const complete = units.length === 3 && new Set(units).size === 3
  if (!complete) return 'a format holds the year, the month and the day once each, like yyyy-MM-dd'
  const runsTogether = letters.some((part, i) => {
    const next = letters[i + 1]
    return next !== undefined && isToken(part) && isToken(next) && !(tokens[part].fixed && tokens[next].fixed)
  })
  return runsTogether ? 'M and d need a sign beside them; write MM and dd where there is none' : null
}

/** Reads calendar dates written in one format, completely and strictly; null for anything else, also for days that never were. */
export type DateReader = (text: string) => string | null

/** A reader for a format without problems. Dates come out as `YYYY-MM-DD`. */
export function dateReader(format: string): DateReader {
  const source = (format.match(/\p{L}+|[^\p{L}]+/gu) ?? []).flatMap(splitRun).map(patternOf).join('')
  const pattern = new RegExp(`^${source}$`)
  const known = new Map<string, string | null>()

  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const date = readDate(pattern, text)
    if (known.size >= remembered) known.clear()
    known.set(text, date)
    return date
  }
}

/** The calendar day before a date; both `YYYY-MM-DD`. */
export function dayBefore(date: string): string {
  return Temporal.PlainDate.from(date).subtract({ days: 1 }).toString()
}

function readDate(pattern: RegExp, text: string): string | null {
  const { year = '', month = '', day = '' } = pattern.exec(text)?.groups ?? {}
  if (year === '') return null
  if (Number(year) < firstYear || Number(year) > lastYear) return null
  try {
    const fields = { year: Number(year), month: Number(month), day: Number(day) }
    return Temporal.PlainDate.from(fields, { overflow: 'reject' }).toString()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function splitRun(part: string): string[] {
  return /^\p{L}/u.test(part) ? (part.match(/(.)\1*/gu) ?? []) : [part]
}

function patternOf(part: string): string {
  return isToken(part) ? tokens[part].pattern : RegExp.escape(part)
}

function isToken(part: string): part is Token {
  return Object.hasOwn(tokens, part)
}
