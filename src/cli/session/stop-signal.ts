import { constants } from 'node:os'

const stops = ['SIGINT', 'SIGTERM'] as const
type Stop = (typeof stops)[number]

/** Thrown by a stop at everything that waits or reads. */
class StoppedBySignal extends Error {
  readonly exit: number

  constructor(stop: Stop) {
    super(`stopped by ${stop}`)
    this.exit = exitOf(stop)
  }
}

/** The exit code for an error that a stop caused, itself or behind what a library made of it; null for every other error. */
export function exitOfStop(error: unknown): number | null {
  if (error instanceof StoppedBySignal) return error.exit
  return error instanceof Error && error.cause !== undefined ? exitOfStop(error.cause) : null
}

/** Stops a command on Ctrl-C or SIGTERM. */
export type StopSignal = Disposable & {
  /** Aborted by the first signal that asks the process to stop. A second one ends it at once. */
  readonly signal: AbortSignal
  /** The signal that came; null if none has. */
  received(): string | null
  /** The exit code that shells use for the signal; null if none has come. */
  exit(): number | null
}

/** Listens for Ctrl-C and for the signal that ends a process. */
export function listenForStop(): StopSignal {
  const controller = new AbortController()
  let received: Stop | null = null

  function onStop(stop: Stop): void {
    if (received !== null) process.exit(exitOf(stop))
    received = stop
    controller.abort(new StoppedBySignal(stop))
  }

  for (const stop of stops) process.on(stop, onStop)
  return {
    signal: controller.signal,
    received: () => received,
    exit: () => (received === null ? null : exitOf(received)),
    [Symbol.dispose]: () => {
      for (const stop of stops) process.off(stop, onStop)
    },
  }
}

function exitOf(stop: Stop): number {
  return 128 + constants.signals[stop]
}
