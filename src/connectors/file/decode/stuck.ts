const tickMs = 500
const stuckTicks = 6

/** A source of bytes that tells whether it is being read. */
export type WatchedChunks = {
  readonly chunks: AsyncGenerator<Buffer>
  /** How often it was asked for bytes, or had answered. Odd while somebody waits for it. */
  readonly steps: () => number
}

export function watched(source: AsyncIterable<Buffer>): WatchedChunks {
  let steps = 1
  async function* counted() {
    for await (const chunk of source) {
      steps += 1
      yield chunk
      steps += 1
    }
    steps += 1
  }
  return { chunks: counted(), steps: () => steps }
}

/**
 * What `work` comes to, as long as it goes on taking from its source. Where it neither does for seconds nor comes to an end, it waits for
 * itself and would do so for ever: openpgp does with some damaged messages.
 */
export async function unlessStuck<T>(work: Promise<T>, { steps }: WatchedChunks): Promise<T> {
  const { promise: stuck, reject } = Promise.withResolvers<never>()
  let seen = steps()
  let idleTicks = 0
  const timer = setInterval(() => {
    const isWaiting = steps() % 2 === 1
    idleTicks = isWaiting || steps() !== seen ? 0 : idleTicks + 1
    seen = steps()
    if (idleTicks >= stuckTicks) reject(new Error('neither goes on nor ends'))
  }, tickMs)
  try {
    return await Promise.race([work, stuck])
  } finally {
    clearInterval(timer)
  }
}
