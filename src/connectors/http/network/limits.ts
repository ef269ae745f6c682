/** The signals that end a request from our side. */
export type RequestLimits = {
  readonly caller: AbortSignal
  readonly timeout: AbortSignal
  readonly either: AbortSignal
  readonly totalTimeoutMs: number
}

/** The limits of all requests of one reading. The time starts now. */
export function openRequestLimits(totalTimeoutMs: number, caller: AbortSignal): RequestLimits {
  const timeout = AbortSignal.timeout(totalTimeoutMs)
  return { caller, timeout, either: AbortSignal.any([caller, timeout]), totalTimeoutMs }
}
