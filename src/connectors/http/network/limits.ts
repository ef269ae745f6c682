import type { Clock } from './clock.ts'

/** The signals that end a request from our side. */
export type RequestLimits = {
  readonly caller: AbortSignal
  readonly timeout: AbortSignal
  readonly either: AbortSignal
  readonly totalTimeoutMs: number
  /** The milliseconds until `timeout` aborts. */
  readonly remainingMs: () => number
}

/** The limits of all requests of one reading. The time starts now. */
export function openRequestLimits(
  totalTimeoutMs: number,
  caller: AbortSignal,
  { elapsedMs }: Pick<Clock, 'elapsedMs'>,
): RequestLimits {
  const timeout = AbortSignal.timeout(totalTimeoutMs)
  const endMs = elapsedMs() + totalTimeoutMs
  const remainingMs = () => Math.max(0, endMs - elapsedMs())
  return { caller, timeout, either: AbortSignal.any([caller, timeout]), totalTimeoutMs, remainingMs }
}
