import type { Verdict } from '../change.ts'
import type { Limit } from './limits.ts'

/** The maximum that a limit allows. */
export function maxAllowed({ count, share }: Limit, base: number): number {
  return Math.max(count, Math.floor(share * base))
}

type Measure = {
  readonly actual: number
  readonly base: number
  /** The text after "17 of 40" in the verdict. */
  readonly text: string
}

/** The verdict of a limit: it fails if `actual` of `base` exceed the limit. */
export function checkLimit(name: string, limit: Limit, { actual, base, text }: Measure): Verdict {
  const most = maxAllowed(limit, base)
  if (actual <= most) return { name, actual, limit: most, ok: true }
  return { name, actual, limit: most, ok: false, reason: `${actual} of ${base} ${text}; the limit is ${most}` }
}
