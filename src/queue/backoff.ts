/** The number of attempts of a job, and the wait between two attempts. */
export type Retry = {
  readonly attempts: number
  /** The longest wait before the second attempt; it doubles with each further one. */
  readonly firstSeconds: number
  readonly maxSeconds: number
}

/** The retry settings of jobs. */
export const defaultRetry: Retry = { attempts: 5, firstSeconds: 2, maxSeconds: 120 }

/**
 * How long to wait after a failed attempt: a random time up to the doubled bound (full jitter), so that jobs that failed together do not
 * come back together. Never zero, which a queue could take for "at once, and first".
 */
export function backoffMs(attemptsMade: number, retry: Retry, random: () => number = Math.random): number {
  const boundSeconds = Math.min(retry.maxSeconds, retry.firstSeconds * 2 ** (attemptsMade - 1))
  return Math.max(1, Math.round(random() * boundSeconds * 1000))
}
