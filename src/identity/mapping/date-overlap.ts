import { type DateFormatOptions, type FormatPart, isFraction, partsOf, patternOf, type Token } from './date-formats.ts'
import { dateReader } from './dates.ts'
import { isoFormat } from './iso-dates.ts'
import { monthNames } from './month-names.ts'

// Only the positions of the digits decide how a text is read, so one date in every width represents all dates.
const days = [5, 25]
const months = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const units = ['year', 'month', 'day', 'hour', 'halfDay', 'minute', 'offset'] as const

/**
 * Why several formats cannot be used together, or null. If two of them read the same text, both must find year, month, day and offset at
 * the same positions. The formats have no problems of their own.
 */
export function dateOverlapProblem(formats: readonly string[], formatOptions: DateFormatOptions = {}): string | null {
  for (const [index, format] of formats.entries()) {
    const rival = formats.slice(index + 1).find((other) => readDifferently(format, other, formatOptions))
    if (rival !== undefined) {
      return `"${format}" and "${rival}" can read the same text as different days: leave one of them out`
    }
  }
  return null
}

function readDifferently(format: string, other: string, formatOptions: DateFormatOptions): boolean {
  if (format === isoFormat || other === isoFormat)
    return format !== other && readsAnotherDay(format === isoFormat ? other : format, formatOptions)
  const mine = new RegExp(patternOf(format, formatOptions), 'd')
  const theirs = new RegExp(patternOf(other, formatOptions), 'd')
  return sampleTexts(partsOf(format), formatOptions).some((text) => {
    const positions = positionsIn(mine.exec(text))
    const others = positionsIn(theirs.exec(text))
    return positions !== null && others !== null && positions !== others
  })
}

/** Whether ISO 8601 reads a text of the format as another day. */
function readsAnotherDay(format: string, formatOptions: DateFormatOptions): boolean {
  const iso = dateReader([isoFormat])
  const read = dateReader([format], formatOptions)
  return sampleTexts(partsOf(format), formatOptions).some((text) => {
    const readings = [iso(text, 'UTC'), read(text, 'UTC')]
    return !readings.includes(null) && readings[0] !== readings[1]
  })
}

/** The positions of the units that decide about the day. The time decides only if there is an offset. */
function positionsIn(match: RegExpExecArray | null): string | null {
  if (match === null) return null
  const positions = match.indices?.groups ?? {}
  const decisive = units.filter((unit) => positions.offset !== undefined || ['year', 'month', 'day'].includes(unit))
  return JSON.stringify(decisive.map((unit) => positions[unit] ?? null))
}

/** Texts of a format in every width and with every name. */
function sampleTexts(parts: readonly FormatPart[], formatOptions: DateFormatOptions): readonly string[] {
  return months.flatMap((month) =>
    days.flatMap((day) =>
      parts.reduce(
        (texts: readonly string[], part) => {
          const written = 'literal' in part ? [part.literal] : samplesOf(part.token, { month, day, formatOptions })
          return texts.flatMap((text) => written.map((piece) => text + piece))
        },
        [''],
      ),
    ),
  )
}

type Sample = { readonly month: number; readonly day: number; readonly formatOptions: DateFormatOptions }

function samplesOf(token: Token, { month, day, formatOptions: { language = 'en' } }: Sample): readonly string[] {
  if (isFraction(token)) return ['0'.repeat(token.length)]
  switch (token) {
    case 'yyyy':
      return ['2003']
    case 'yy':
      return ['03']
    case 'MMMM':
      return monthNames('long', language)[month - 1] ?? []
    case 'MMM':
      return monthNames('short', language)[month - 1] ?? []
    case 'MM':
      return [twoDigits(month)]
    case 'M':
      return widths(month)
    case 'dd':
      return [twoDigits(day)]
    case 'd':
      return widths(day)
    case 'H':
    case 'h':
      return ['5', '05']
    case 'HH':
    case 'hh':
    case 'mm':
    case 'ss':
      return ['05']
    case 'a':
      return ['AM']
    case 'XXX':
      return ['Z', '+05:00']
    case 'Z':
      return ['Z', '+05:00', '+0500']
    default:
      return token satisfies never
  }
}

function widths(number: number): readonly string[] {
  return [...new Set([String(number), twoDigits(number)])]
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0')
}
