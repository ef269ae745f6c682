import type { Settings } from './backend.ts'
import { backoffMs, type Retry } from './backoff.ts'

// Nobody reads BullMQ's stream of events; it would otherwise keep ten thousand of them.
const streams = { events: { maxLen: 100 } }

/** How BullMQ keeps jobs: no longer than they are needed, and without messages and stacks of what went wrong. */
export function producerOptions(retry: Retry) {
  return {
    streams,
    defaultJobOptions: {
      attempts: retry.attempts,
      backoff: { type: 'jitter' },
      removeOnComplete: true,
      removeOnFail: true,
      stackTraceLimit: 0,
    },
  }
}

/** How BullMQ works on jobs. */
export function consumerOptions({ retry, locks, concurrency }: Settings) {
  return {
    concurrency,
    lockDuration: locks.lockSeconds * 1000,
    stalledInterval: locks.checkSeconds * 1000,
    // A process that is killed says nothing about its jobs, however often it happens.
    maxStalledCount: 1_000_000,
    // Also bounds how long a pause waits for a consumer that is waiting for its server.
    runRetryDelay: 1000,
    settings: { backoffStrategy: (attemptsMade: number) => backoffMs(attemptsMade, retry) },
  }
}
