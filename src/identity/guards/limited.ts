import type { Verdict } from '../change.ts'
import type { Limit } from './limits.ts'

/** The maximum that a limit allows. */
export function mostOf({ count, share }: Limit, base: number): number {
  return Math.max(count, Math.floor(share * base))
}

type Measure = { readonly actual: number; readonly base: number; readonly of: string }

/** Whether `actual` of `base` exceed the limit. */
export function limited(name: string, limit: Limit, { actual, base, of }: Measure): Verdict {
  const most = mostOf(limit, base)
  if (actual <= most) return { name, actual, limit: most, ok: true }
  return { name, actual, limit: most, ok: false, reason: `${actual} of ${base} ${of}; the limit is ${most}` }
}
