import { isoFormat, isoParts } from './iso-dates.ts'
import { type Language, languages, monthNames } from './month-names.ts'

/** A form of a date, as the configuration describes it. */
export type WrittenForm = { readonly format: string; readonly pivot?: number; readonly language?: Language }

/** A text that has the shape of a date. */
type WrittenDate = {
  /** Every format that the text may have. Not every one yields an existing day. */
  readonly forms: readonly WrittenForm[]
  /** The reason if no format yields an existing day. */
  readonly fault: string
}

/** The last year that two digits are taken to mean. */
const pivot = 2049
const dayAndTime =
  /^(?<day>.*?)(?:(?<gap>T| {1,2})(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:(?<point>[.,])(?<fraction>\d{1,9}))?)?(?<halfDayGap> ?)(?<halfDay>[ap]m)?(?<offsetGap> ?)(?<offset>Z|[+-]\d{2}(?<colon>:?)\d{2})?)?$/i
const threeParts = /^(\d{1,4}|\p{L}{3,9})([ ./,-]{1,2})(\d{1,2}|\p{L}{3,9})([ ./,-]{1,2})(\d{1,4})$/u
const onlyDigits = /^(?:\d{8}|\d{6})$/
const orders = ['ymd', 'mdy', 'dmy', 'ydm'] as const

/** The formats that a text with the shape of a date may have; null for any other text. */
export function analyseDate(text: string): WrittenDate | null {
  const groups = dayAndTime.exec(text)?.groups
  if (groups === undefined) return isoOnly(text)
  const { day = '' } = groups
  const days = onlyDigits.test(day) ? formsOfDigits(day) : formsOfParts(day)
  if (days.length === 0) return isoOnly(text)
  const time = timeFormat(groups)
  const iso = time !== '' && isoParts(text) !== null ? [{ format: isoFormat }] : []
  const forms = [...iso, ...days.map(({ format, ...options }) => ({ format: format + time, ...options }))]
  return { forms, fault: faultOf(day, time) }
}

function isoOnly(text: string): WrittenDate | null {
  return isoParts(text) === null ? null : { forms: [{ format: isoFormat }], fault: 'there is no such day' }
}

function faultOf(day: string, time: string): string {
  const [year] = day.match(/\d{4}/) ?? []
  if (year !== undefined && !onlyDigits.test(day) && (year < '1900' || year > '2199'))
    return 'the year is not one from 1900 to 2199'
  return time === '' ? 'there is no such day' : 'there is no such day or time'
}

function formsOfDigits(day: string): WrittenForm[] {
  return day.length === 8
    ? ['yyyyMMdd', 'MMddyyyy', 'ddMMyyyy'].map((format) => ({ format }))
    : ['yyMMdd', 'MMddyy', 'ddMMyy'].map((format) => ({ format, pivot }))
}

function formsOfParts(day: string): WrittenForm[] {
  const [, first = '', gap = '', second = '', nextGap = '', third = ''] = threeParts.exec(day) ?? []
  const parts = [first, second, third]
  return orders.flatMap((order) => {
    const partOf = (unit: 'y' | 'm' | 'd') => parts[order.indexOf(unit)] ?? ''
    const name = nameToken(partOf('m'))
    const hasOneDigit = [partOf('m'), partOf('d')].some((part) => /^\d$/.test(part))
    const year = yearToken(partOf('y'))
    if (year === null || !/^\d{1,2}$/.test(partOf('d')) || name === null || (order === 'ydm' && year === 'yy'))
      return []
    const tokens = {
      y: year,
      m: name?.token ?? (hasOneDigit ? 'M' : 'MM'),
      d: hasOneDigit ? 'd' : 'dd',
    }
    const [a, b, c] = [...order].map((unit) => tokens[unit as 'y' | 'm' | 'd'])
    return [
      {
        format: `${a}${gap}${b}${nextGap}${c}`,
        ...(year === 'yy' && { pivot }),
        ...(name !== undefined && { language: name.language }),
      },
    ]
  })
}

function yearToken(part: string): 'yyyy' | 'yy' | null {
  if (!/^\d+$/.test(part)) return null
  return part.length === 4 ? 'yyyy' : part.length === 2 ? 'yy' : null
}

/** The token and the language of a month's name; undefined for a number, null for anything else. */
function nameToken(part: string): { readonly token: string; readonly language: Language } | null | undefined {
  if (/^\d{1,2}$/.test(part)) return undefined
  for (const language of languages)
    for (const [length, token] of [
      ['short', 'MMM'],
      ['long', 'MMMM'],
    ] as const)
      if (
        monthNames(length, language)
          .flat()
          .some((name) => name.toLowerCase() === part.normalize('NFC').toLowerCase())
      )
        return { token, language }
  return null
}

function timeFormat(groups: Readonly<Record<string, string | undefined>>): string {
  const {
    gap = '',
    hour,
    second,
    point = '',
    fraction = '',
    halfDay,
    halfDayGap = '',
    offsetGap = '',
    offset,
    colon,
  } = groups
  if (hour === undefined) return ''
  const hours = (halfDay === undefined ? 'HH' : 'hh').slice(0, hour.length)
  const seconds = second === undefined ? '' : `:ss${point}${'S'.repeat(fraction.length)}`
  const halfDayToken = halfDay === undefined ? halfDayGap : `${halfDayGap}a`
  const offsetToken = offset === undefined ? offsetGap : `${offsetGap}${colon === '' ? 'Z' : 'XXX'}`
  return `${/t/i.test(gap) ? "'T'" : gap}${hours}:mm${seconds}${halfDayToken}${offsetToken}`
}
