import type { Queue } from './queue.ts'

/**
 * A queue that is opened once somebody uses it. Whoever only looks never does, and loading what keeps jobs takes longer than most
 * looks.
 */
export function lazyQueue(place: string, open: () => Promise<Queue>): Queue {
  let opening: Promise<Queue> | null = null
  const opened = () => {
    opening ??= open()
    return opening
  }
  return {
    place,
    enqueue: async (jobs) => await (await opened()).enqueue(jobs),
    work: async (workers, options) => await (await opened()).work(workers, options),
    check: async () => await (await opened()).check(),
    waiting: async () => await (await opened()).waiting(),
    held: async () => await (await opened()).held(),
    clear: async () => await (await opened()).clear(),
    async [Symbol.asyncDispose]() {
      // What kept it from opening was told to whoever used it.
      const queue = await opening?.catch(() => null)
      await queue?.[Symbol.asyncDispose]()
    },
  }
}
