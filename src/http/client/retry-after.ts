import type { ResponseHeaders } from './answer.ts'

/** The wait that `Retry-After` states in seconds or as a date; null if it is missing or unreadable. */
export function retryAfterMs(headers: ResponseHeaders, now: Date = new Date()): number | null {
  const value = single(headers['retry-after'])
  if (value === null) return null
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000)
  // A date has letters. The engine would also parse a number such as -1 as a date.
  if (!/[a-z]/i.test(value)) return null
  const until = Date.parse(value)
  if (Number.isNaN(until)) return null
  // Both dates are from the server's clock, which can differ from ours by more than the wait.
  const sent = Date.parse(single(headers.date) ?? '')
  return Math.max(0, until - (Number.isNaN(sent) ? now.getTime() : sent))
}

function single(value: string | readonly string[] | undefined): string | null {
  const first = typeof value === 'string' ? value : value?.[0]
  return first?.trim() || null
}
