/** A signal that aborts with the reason of another one, but later. Disposing it ends the wait. */
type LateAbort = Disposable & { readonly signal: AbortSignal }

/** Aborts `delayMs` after `signal` does. */
export function lateAbort(signal: AbortSignal, delayMs: number): LateAbort {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const start = () => {
    timer = setTimeout(() => controller.abort(signal.reason), delayMs)
  }
  if (signal.aborted) start()
  else signal.addEventListener('abort', start, { once: true })
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      signal.removeEventListener('abort', start)
      clearTimeout(timer)
    },
  }
}
