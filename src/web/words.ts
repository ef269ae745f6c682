import { type Html, html } from './html.ts'

const wholeNumbers = new Intl.NumberFormat('en')
const clocks = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' })
const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const tenthMs = 100
const [minute, hour, twoDays, dayOf] = [60, 3600, 172_800, 86_400]

/** `12,000`: a whole number with separators. */
export function number(value: number): string {
  return wholeNumbers.format(value)
}

/** A number with its noun: `1 person`, `2 people`. */
export function pluralize(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`
}

/**
 * `2 Mar 2026, 10:00 UTC`. If there is too little room, the time is below the date. `local-time.js` shows it in the reader's zone on pages
 * that load it.
 */
export function formatInstant(at: Date | string): Html {
  const date = new Date(at)
  return html`<time data-instant datetime="${date.toISOString()}"><span>${days.format(date)},</span> <span>${clocks.format(date)} UTC</span></time>`
}

/** The same as plain text. */
export function instantText(at: Date | string): string {
  return `${moments.format(new Date(at))} UTC`
}

/** `2 Mar 2026`. */
export function day(at: Date | string): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}">${days.format(date)}</time>`
}

/** How long ago something was, or how soon it will be: `5 h ago`, `in 12 min`. The exact time shows on hover, by `local-time.js` also in the reader's zone. */
export function formatRelativeTime(at: Date | string, now: Date): Html {
  const date = new Date(at)
  const seconds = Math.round((date.getTime() - now.getTime()) / secondMs)
  const long = roughly(Math.abs(seconds))
  const text = long === 'now' ? (seconds <= 0 ? 'just now' : long) : seconds < 0 ? `${long} ago` : `in ${long}`
  return html`<time data-relative datetime="${date.toISOString()}" title="${instantText(date)}">${text}</time>`
}

function roughly(seconds: number): string {
  if (seconds < minute) return 'now'
  if (seconds < hour) return `${Math.floor(seconds / minute)} min`
  if (seconds < twoDays) return `${Math.floor(seconds / hour)} h`
  return `${number(Math.floor(seconds / dayOf))} days`
}

/** `340 ms`, `4.2 s`, `12 min 5 s`, `28 h 41 min`, `3 days`. */
export function duration(ms: number): string {
  if (ms < secondMs) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < minuteMs) return `${Math.round(ms / tenthMs) / (secondMs / tenthMs)} s`
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min ${Math.floor((ms % minuteMs) / secondMs)} s`
  if (ms < twoDays * secondMs) return `${Math.floor(ms / hourMs)} h ${Math.floor((ms % hourMs) / minuteMs)} min`
  return roughly(ms / secondMs)
}
