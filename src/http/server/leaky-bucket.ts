/** What a limiter says of one request. `resetSeconds`: when all of the limit is there again. `retrySeconds`: when one request is. */
export type LimitState = {
  readonly isWithin: boolean
  readonly remaining: number
  readonly resetSeconds: number
  readonly retrySeconds: number
}

type Bucket = {
  /** How many requests fit into the bucket of an address. */
  readonly capacity: number
  /** How many of them leak out in a minute. */
  readonly leakPerMinute: number
  readonly nowMs: () => number
}

const minuteMs = 60_000
/** Maximum number of remembered addresses, above which those with an empty bucket are forgotten. */
const sweepSize = 10_000

/** A leaky bucket for each address: a request that does not fit is refused, and leaves the bucket as it is. */
export function leakyBuckets({ capacity, leakPerMinute, nowMs }: Bucket): (address: string) => LimitState {
  const msPerRequest = minuteMs / leakPerMinute
  /** When the bucket of an address will be empty. */
  const emptyAt = new Map<string, number>()
  let nextSweepSize = sweepSize
  return (address) => {
    const now = nowMs()
    const before = Math.max(0, (emptyAt.get(address) ?? 0) - now)
    const isWithin = before <= (capacity - 1) * msPerRequest
    const afterMs = isWithin ? before + msPerRequest : before
    emptyAt.set(address, now + afterMs)
    if (emptyAt.size >= nextSweepSize) {
      for (const [known, at] of emptyAt) if (at <= now) emptyAt.delete(known)
      nextSweepSize = Math.max(sweepSize, emptyAt.size * 2)
    }
    return {
      isWithin,
      remaining: Math.floor(capacity - afterMs / msPerRequest),
      resetSeconds: wholeSeconds(afterMs),
      retrySeconds: wholeSeconds(before - (capacity - 1) * msPerRequest),
    }
  }
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
