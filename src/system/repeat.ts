import { setTimeout as pause } from 'node:timers/promises'

/** Runs a task again and again, a pause after each end, until disposed. What it throws goes to `failed` and the next turn comes anyway. */
export function repeat(
  task: () => Promise<unknown>,
  { pauseMs, failed: onError }: { pauseMs: number; failed: (error: unknown) => void },
): AsyncDisposable {
  const ending = new AbortController()
  const turning = turn()
  return {
    async [Symbol.asyncDispose]() {
      ending.abort()
      await turning
    },
  }

  async function turn(): Promise<void> {
    while (await pausedFor(pauseMs, ending.signal)) {
      try {
        await task()
      } catch (error) {
        onError(error)
      }
    }
  }
}

async function pausedFor(pauseMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await pause(pauseMs, undefined, { signal })
    return true
  } catch {
    return false
  }
}
