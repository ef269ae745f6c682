/** When a circuit opens, and for how long. */
export type CircuitOptions = {
  /** How many requests in a row have to fail. */
  readonly failures: number
  /** How long the first break lasts at most, and the longest. */
  readonly firstMs: number
  readonly maxMs: number
}

/** Keeps requests from a failing platform. It uses the monotonic time of the process, so a change of the clock does not affect it. */
export type Circuit<F> = {
  /** Makes a request, or returns in how many milliseconds the next one is let through. */
  run<A extends F>(
    send: () => Promise<A>,
    signal: AbortSignal,
  ): Promise<{ readonly answer: A } | { readonly withheldMs: number }>
  readonly isOpen: boolean
}

/** A circuit that opens after several failures in a row. After each break one request decides whether the others may follow. */
export function createCircuit<F>(options: CircuitOptions, isFailure: (answer: F) => boolean): Circuit<F> {
  let failuresInRow = 0
  let breaks = 0
  /** When the break is over; null: the circuit is closed. */
  let probeAtMs: number | null = null
  let probe: Promise<unknown> | null = null

  function open(): void {
    breaks += 1
    probeAtMs = performance.now() + breakMs(breaks, options)
  }

  function close(): void {
    failuresInRow = 0
    breaks = 0
    probeAtMs = null
  }

  async function runClosed<A extends F>(send: () => Promise<A>): Promise<A> {
    const answer = await send()
    // What began before the circuit opened says nothing new.
    if (probeAtMs !== null) return answer
    failuresInRow = isFailure(answer) ? failuresInRow + 1 : 0
    if (failuresInRow >= options.failures) open()
    return answer
  }

  /** A request that could not be made at all decides nothing: the next one is the probe. */
  async function runProbe<A extends F>(send: () => Promise<A>): Promise<A> {
    const answer = await send()
    if (isFailure(answer)) open()
    else close()
    return answer
  }

  return {
    get isOpen() {
      return probeAtMs !== null && probe === null
    },
    async run(send, signal) {
      for (;;) {
        signal.throwIfAborted()
        if (probeAtMs === null) return { answer: await runClosed(send) }
        const remainingMs = probeAtMs - performance.now()
        // A timer may be a millisecond early.
        if (remainingMs > 0) return { withheldMs: Math.ceil(remainingMs) + 1 }
        if (probe === null) {
          const probing = runProbe(send)
          probe = probing
          try {
            return { answer: await probing }
          } finally {
            probe = null
          }
        }
        await probe.catch(() => undefined)
      }
    },
  }
}

/** Doubling, and never two processes at the same time: at least half of the bound, the rest by chance. */
function breakMs(breaks: number, { firstMs, maxMs }: CircuitOptions): number {
  const boundMs = Math.min(maxMs, firstMs * 2 ** Math.min(breaks - 1, 20))
  return boundMs / 2 + Math.random() * (boundMs / 2)
}
