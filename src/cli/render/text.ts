import { escapeText } from '../../text/escape.ts'
import type { Paint, Style } from '../../text/print.ts'
import { displayWidth } from './table.ts'

/** Every text from outside is escaped with this before it appears in a line of ours. */
export { escapeText } from '../../text/escape.ts'
export type { Paint, Style } from '../../text/print.ts'
/** `2026-11-20 01:00 UTC`, in the zone of the reader. */
export { formatDate, formatTime as formatInstant } from '../../text/time.ts'
export { alignColumns, roomIn, tableLines } from './table.ts'

/** Paints nothing: for output without colours. */
export const plain: Paint = (_style, text) => text

/** The severity: a warning asks to look, a rejected row is not used, and a failure ends something. */
type Level = 'ok' | 'warning' | 'rejected' | 'failed'

const levels = {
  ok: ['green', '✔'],
  warning: ['yellow', '!'],
  rejected: ['magenta', '⊘'],
  failed: ['red', '✖'],
} as const satisfies Record<Level, readonly [Style, string]>

/** The mark at the beginning of a line of this level; its sign distinguishes the levels where there are no colours. */
export function levelMark(level: Level, paint: Paint): string {
  const [style, sign] = levels[level]
  return paint(style, sign)
}

/** `1 person`, `2 people`: a count with its noun, thousands set apart. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`
}

/** `12,000`: a number with separators. */
export function number(value: number): string {
  // Loading the tables for the characters of all languages takes as long as a whole status.
  if (Number.isInteger(value) && Math.abs(value) < 1000) return String(value)
  return value.toLocaleString('en-US')
}

/** The calendar day of a date as the platform writes it. */
export function day(instant: string): string {
  return instant.slice(0, 10)
}

/** `340 ms`, `4.2 s`, `12 min 5 s`, `28 h 41 min`, `3 d`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return age(ms / 1000)
}

const shortIdLength = 8

/** The beginning of a run's ID, long enough to be unique in practice and to be copied. */
export function shortId(id: string): string {
  return id.slice(0, shortIdLength)
}

/** A duration in its largest whole unit: `45 s`, `12 min`, `5 h`, `3 d`. */
export function age(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${number(Math.floor(seconds / 86_400))} d`
}

/** The beginning of a text from outside, so that others fit beside it. */
export function shorten(text: string, maxSigns: number): string {
  const signs = [...text]
  return escapeText(signs.length > maxSigns ? `${signs.slice(0, maxSigns - 1).join('')}…` : text)
}

/** Words in lines of at most `width` characters, separated by commas. */
export function wrapWords(words: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const [at, word] of words.entries()) {
    const text = at === words.length - 1 ? word : `${word},`
    const line = lines.at(-1)
    if (line !== undefined && displayWidth(line) + 1 + displayWidth(text) <= width)
      lines[lines.length - 1] = `${line} ${text}`
    else lines.push(text)
  }
  return lines
}

const continuationIndent = 2

/** Breaks lines that are longer than `width` between words, and indents the rest like the line. Colours take no room. */
export function wrapLines(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => (displayWidth(line) > width ? wrappedLine(line, width) : line))
    .join('\n')
}

function wrappedLine(line: string, width: number): string {
  const [indent = ''] = /^ */.exec(line) ?? []
  const [first = '', ...words] = line.slice(indent.length).split(/(?<=\S) +/)
  const lines = [indent + first]
  for (const word of words) {
    const last = lines.at(-1) ?? ''
    if (displayWidth(last) + 1 + displayWidth(word) <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + ' '.repeat(continuationIndent) + word)
  }
  return lines.join('\n')
}
