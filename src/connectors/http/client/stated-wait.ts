import type { ResponseHeaders } from './body.ts'

/** When a server was asked and what it answered. */
type StatedWait = { readonly status: number; readonly headers: ResponseHeaders; readonly now: Date }

// 1973, in seconds and in milliseconds. A wait is never that long, and no clock is that late.
const firstEpochSecond = 100_000_000
const firstEpochMs = 100_000_000_000

const number = /^\d{1,15}(?:\.\d{1,9})?$/
const date = /^(?:[A-Za-z]{3,9},? |\d{4}-\d\d-\d\dT)/

/**
 * How many milliseconds a response asks to wait; null if it does not say so. Only a response with status 429 is about a rate limit:
 * others may state the rest of the budget with every answer.
 */
export function statedWaitMs({ status, headers, now }: StatedWait): number | null {
  // The server's own clock counts for the times that it states.
  const serverMs = Date.parse(firstValue(headers.date) ?? '')
  const nowMs = Number.isNaN(serverMs) ? now.getTime() : serverMs
  const retryAfter = resetMs(firstValue(headers['retry-after']), nowMs)
  if (retryAfter !== null || status !== 429) return retryAfter
  const resets = ['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset'].map((name) => firstValue(headers[name]))
  const stated = [exhaustedMs(firstValue(headers.ratelimit)), ...resets.map((value) => resetMs(value, nowMs))]
  return stated.find((ms) => ms !== null) ?? null
}

/** Seconds from now, a time in seconds or milliseconds since 1970, or a date. Systems use one header for all of them. */
function resetMs(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? ''
  if (number.test(text)) {
    const stated = Number(text)
    if (stated >= firstEpochMs) return Math.max(0, stated - nowMs)
    return stated >= firstEpochSecond ? Math.max(0, stated * 1000 - nowMs) : stated * 1000
  }
  const untilMs = date.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(untilMs) ? null : Math.max(0, untilMs - nowMs)
}

/** The wait in the header RateLimit, in its forms `"default";r=0;t=30` and `limit=100, remaining=0, reset=30`. */
function exhaustedMs(value: string | undefined): number | null {
  if (value === undefined) return null
  const policies = /\bremaining=/.test(value) ? [value] : value.split(',')
  const waits = policies.flatMap((policy) => {
    const seconds = /(?:^|[;,\s])(?:t|reset)=(\d{1,9})(?!\d)/.exec(policy)?.[1]
    const remaining = /(?:^|[;,\s])(?:r|remaining)=(\d{1,15})(?!\d)/.exec(policy)?.[1]
    return seconds === undefined ? [] : [{ ms: Number(seconds) * 1000, isExhausted: Number(remaining ?? 0) === 0 }]
  })
  const exhausted = waits.filter(({ isExhausted }) => isExhausted)
  const relevant = exhausted.length > 0 ? exhausted : waits
  return relevant.length === 0 ? null : Math.max(...relevant.map(({ ms }) => ms))
}

function firstValue(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}
