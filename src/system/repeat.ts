import { setTimeout as pause } from 'node:timers/promises'

type RepeatOptions = {
  /** How long to wait after each end, and before the first start. */
  readonly pauseMs: number
  /** Called with what the task throws. The task is repeated anyway. */
  readonly onError: (error: unknown) => void
}

/** Runs a task again and again until disposed. Disposing waits for the task that is running. */
export function repeat(task: () => Promise<unknown>, { pauseMs, onError }: RepeatOptions): AsyncDisposable {
  const stopping = new AbortController()
  const loop = runLoop()
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await loop
    },
  }

  async function runLoop(): Promise<void> {
    while (await waitUnlessAborted(pauseMs, stopping.signal)) {
      try {
        await task()
      } catch (error) {
        onError(error)
      }
    }
  }
}

/** Waits; false if the signal aborted meanwhile. */
async function waitUnlessAborted(pauseMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await pause(pauseMs, undefined, { signal })
    return true
  } catch {
    return false
  }
}
