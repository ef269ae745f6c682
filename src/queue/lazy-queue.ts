import type { Queue } from './queue.ts'

/** A queue that is opened at its first use. Read-only commands never use it, and loading the backend takes longer than most of them. */
export function lazyQueue(location: string, open: () => Promise<Queue>): Queue {
  let opening: Promise<Queue> | null = null
  const opened = () => {
    opening ??= open()
    return opening
  }
  return {
    location,
    enqueue: async (jobs) => await (await opened()).enqueue(jobs),
    work: async (workers, options) => await (await opened()).work(workers, options),
    check: async () => await (await opened()).check(),
    waiting: async () => await (await opened()).waiting(),
    unavailableJobs: async () => await (await opened()).unavailableJobs(),
    clear: async () => await (await opened()).clear(),
    async [Symbol.asyncDispose]() {
      // Its user has already received the error of opening.
      const queue = await opening?.catch(() => null)
      await queue?.[Symbol.asyncDispose]()
    },
  }
}
