import { isoFormat } from './iso-dates.ts'
import { type Language, monthNames } from './month-names.ts'

/** What the reading of a date needs besides its format. */
export type DateFormatOptions = {
  /** The last year that two digits may mean: with 2049, `49` is 2049 and `50` is 1950. */
  readonly pivot?: number
  /** The language of month names. */
  readonly language?: Language
}

type Unit = 'year' | 'month' | 'day' | 'hour' | 'halfDay' | 'minute' | 'second' | 'fraction' | 'offset'
type TokenRule = {
  readonly unit: Unit
  /** The pattern of the digits; for months by name, which names: `short` or `long`. */
  readonly pattern: string
  /** Whether the text always has the same length. */
  readonly fixed: boolean
}

const tokens = {
  yyyy: { unit: 'year', pattern: '\\d{4}', fixed: true },
  yy: { unit: 'year', pattern: '\\d{2}', fixed: true },
  MMMM: { unit: 'month', pattern: 'long', fixed: false },
  MMM: { unit: 'month', pattern: 'short', fixed: false },
  MM: { unit: 'month', pattern: '\\d{2}', fixed: true },
  M: { unit: 'month', pattern: '\\d{1,2}', fixed: false },
  dd: { unit: 'day', pattern: '\\d{2}', fixed: true },
  d: { unit: 'day', pattern: '\\d{1,2}', fixed: false },
  HH: { unit: 'hour', pattern: '\\d{2}', fixed: true },
  H: { unit: 'hour', pattern: '\\d{1,2}', fixed: false },
  hh: { unit: 'hour', pattern: '\\d{2}', fixed: true },
  h: { unit: 'hour', pattern: '\\d{1,2}', fixed: false },
  a: { unit: 'halfDay', pattern: '[aApP][mM]', fixed: true },
  mm: { unit: 'minute', pattern: '\\d{2}', fixed: true },
  ss: { unit: 'second', pattern: '\\d{2}', fixed: true },
  S: { unit: 'fraction', pattern: '\\d', fixed: true },
  SS: { unit: 'fraction', pattern: '\\d{2}', fixed: true },
  SSS: { unit: 'fraction', pattern: '\\d{3}', fixed: true },
  SSSS: { unit: 'fraction', pattern: '\\d{4}', fixed: true },
  SSSSS: { unit: 'fraction', pattern: '\\d{5}', fixed: true },
  SSSSSS: { unit: 'fraction', pattern: '\\d{6}', fixed: true },
  SSSSSSS: { unit: 'fraction', pattern: '\\d{7}', fixed: true },
  SSSSSSSS: { unit: 'fraction', pattern: '\\d{8}', fixed: true },
  SSSSSSSSS: { unit: 'fraction', pattern: '\\d{9}', fixed: true },
  XXX: { unit: 'offset', pattern: 'Z|[+-]\\d{2}:\\d{2}', fixed: true },
  Z: { unit: 'offset', pattern: 'Z|[+-]\\d{2}:?\\d{2}', fixed: true },
} as const satisfies Record<string, TokenRule>

/** A part of a date format, such as yyyy. */
export type Token = keyof typeof tokens
type Fraction = Extract<Token, `S${string}`>

/** A part of a format: a token, or the literal text between tokens. */
export type FormatPart = { readonly token: Token } | { readonly literal: string }

const formatHelp =
  'a format is iso, or holds yyyy, MM or M, dd or d; times: HH, mm, ss, S to SSSSSSSSS, a, XXX; other letters stand in single quotes'
/** Each unit, and the coarser unit without which a format cannot have it. */
const coarserUnits: readonly (readonly [Unit, Unit])[] = [
  ['minute', 'hour'],
  ['second', 'minute'],
  ['fraction', 'second'],
  ['offset', 'minute'],
]

/** Why a date format cannot be used, or null. */
export function dateFormatProblem(format: string, { pivot }: DateFormatOptions = {}): string | null {
  if (format === isoFormat) return null
  const texts = splitFormat(format)
  const unknown = texts.find((text) => /^\p{L}/u.test(text) && !isToken(text))
  if (texts.includes("'")) return 'a single quote is not closed'
  if (unknown === 'y') return 'a year needs four digits: write yyyy'
  if (unknown !== undefined) return `"${unknown}" is not understood: ${formatHelp}`
  if (texts.includes('yy') && pivot === undefined) {
    return 'a year needs four digits: write yyyy; where the source writes two, say with pivot which is the last year they may mean'
  }
  if (/'Z'$/.test(format)) return 'a Z at the end is an offset from UTC: write XXX in place of it'
  return unitsProblem(texts.filter(isToken)) ?? spacingProblem(partsOf(format))
}

/** The parts of a format without problems. */
export function partsOf(format: string): readonly FormatPart[] {
  return splitFormat(format).map((text) => (isToken(text) ? { token: text } : { literal: withoutQuotes(text) }))
}

/** The pattern of whole texts in a format without problems. Its groups are named after the units. */
export function patternOf(format: string, { language = 'en' }: DateFormatOptions): RegExp {
  const source = partsOf(format).map((part) => {
    if ('literal' in part) return RegExp.escape(part.literal)
    const { unit, pattern } = tokens[part.token]
    return `(?<${unit}>${isNameLength(pattern) ? namesPattern(pattern, language) : pattern})`
  })
  return new RegExp(`^${source.join('')}$`)
}

/** The months by their names in such a format; undefined if months are numbers. */
export function monthsByName(
  format: string,
  { language = 'en' }: DateFormatOptions,
): ReadonlyMap<string, number> | undefined {
  const named = partsOf(format).flatMap((part) => {
    const length = 'token' in part ? tokens[part.token].pattern : ''
    return isNameLength(length) ? [length] : []
  })
  const [length] = named
  if (length === undefined) return undefined
  return new Map(
    monthNames(length, language).flatMap((spellings, index) =>
      spellings.map((name): [string, number] => [name.toLowerCase(), index + 1]),
    ),
  )
}

/** Whether texts of the format may be instants, whose day depends on the time zone. */
export function hasOffset(format: string): boolean {
  return format === isoFormat || partsOf(format).some((part) => 'token' in part && tokens[part.token].unit === 'offset')
}

/** Whether a token stands for a fraction of a second. */
export function isFraction(token: Token): token is Fraction {
  return tokens[token].unit === 'fraction'
}

/** The number of digits of the fraction of a second; 0 without a fraction. */
export function fractionDigits(format: string): number {
  if (format === isoFormat) return 9
  return Math.max(
    0,
    ...partsOf(format).map((part) => ('token' in part && isFraction(part.token) ? part.token.length : 0)),
  )
}

/** Splits a format into quoted texts, runs of one letter, and the rest. An unclosed quote is a part of its own. */
function splitFormat(format: string): readonly string[] {
  return format.match(/'(?:[^']|'')*'|'|(\p{L})\1*|[^\p{L}']+/gu) ?? []
}

function withoutQuotes(text: string): string {
  if (text === "''") return "'"
  return text.startsWith("'") ? text.slice(1, -1).replaceAll("''", "'") : text
}

function unitsProblem(used: readonly Token[]): string | null {
  const units = used.map((token): Unit => tokens[token].unit)
  const count = (unit: Unit) => units.filter((one) => one === unit).length
  if (count('year') !== 1 || count('month') !== 1 || count('day') !== 1 || new Set(units).size !== units.length) {
    return 'a format holds the year, the month and the day once each, like yyyy-MM-dd, and every other part once at most'
  }
  const missing = coarserUnits.find(([fine, coarse]) => units.includes(fine) && !units.includes(coarse))
  if (missing !== undefined) return `a format with the ${missing[0]} needs the ${missing[1]} too`
  const isTwelveHours = used.some((token) => token === 'hh' || token === 'h')
  return isTwelveHours === units.includes('halfDay') ? null : 'hh and h go with a (AM or PM), HH and H without it'
}

function spacingProblem(parts: readonly FormatPart[]): string | null {
  const runsTogether = parts.some((part, i) => {
    const next = parts[i + 1]
    if (next === undefined || !('token' in part && 'token' in next)) return false
    return !(tokens[part.token].fixed && tokens[next.token].fixed)
  })
  return runsTogether
    ? 'M, d, H, h and names need a sign beside them; write MM, dd, HH or hh where there is none'
    : null
}

function namesPattern(length: 'short' | 'long', language: Language): string {
  const names = monthNames(length, language).flat()
  return names
    .toSorted((a, b) => b.length - a.length)
    .map(inAnyCase)
    .join('|')
}

/**
 * A pattern of a name in any case. Not `(?i:…)`: once V8 has compiled 16 MB of patterns in a process, it no longer optimizes them, and
 * such a part of a pattern then becomes case-sensitive (V8 14.6).
 */
function inAnyCase(name: string): string {
  return name.replaceAll(/\p{L}/gu, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
}

function isNameLength(pattern: string): pattern is 'short' | 'long' {
  return pattern === 'short' || pattern === 'long'
}

function isToken(text: string): text is Token {
  return Object.hasOwn(tokens, text)
}
