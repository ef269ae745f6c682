import type { Job } from 'bullmq'
import { backoffMs, type Retry } from './backoff.ts'

/** How soon another worker takes over a job whose worker died. */
export type Locks = {
  /** How long a job belongs to an unresponsive worker. */
  readonly lockSeconds: number
  readonly checkSeconds: number
}

/** Settings of the workers of a queue. */
export type Settings = { readonly retry: Retry; readonly locks: Locks; readonly concurrency: number }

/** `priority`: zero goes first, then lower numbers. */
type JobOptions = { jobId: string; delay: number; priority: number }

/** The part of BullMQ's Queue that we use, the same for each backend. */
export type Producer = {
  waitUntilReady(): Promise<unknown>
  getVersion(): Promise<string | null>
  add(name: string, data: object, opts: JobOptions): Promise<unknown>
  addBulk(jobs: { name: string; data: object; opts: JobOptions }[]): Promise<unknown>
  obliterate(options: { force: boolean }): Promise<void>
  getWaitingCount(): Promise<number>
  /** The number of waiting jobs with a priority, which `getWaitingCount` does not include. */
  getPrioritizedCount(): Promise<number>
  /** The IDs of the jobs in these states, by position; `to` -1: to the last one. */
  getRanges(states: ('active' | 'delayed')[], from: number, to: number): Promise<string[]>
  close(): Promise<void>
}

/** The part of BullMQ's Worker that we use. */
type Consumer = {
  waitUntilReady(): Promise<void>
  pause(): Promise<void>
  close(force: boolean): Promise<void>
}

type Processor = (job: Job, token: string | undefined) => Promise<void>

/** Stores jobs. It creates producers and consumers, and closes what it opened when it is disposed. */
export type Backend = {
  /** For messages; never holds a password. */
  readonly location: string
  createProducer(name: string, retry: Retry): Producer
  /** Tests a write and a read. Throws the error of the server. */
  probe(): Promise<void>
  /** The consumer with its own connection, which is dropped on disposal, also while its server is away. */
  createConsumer(
    name: string,
    processor: Processor,
    settings: Settings,
  ): { readonly worker: Consumer; [Symbol.dispose](): void }
  [Symbol.asyncDispose](): Promise<void>
}

// Our code does not read BullMQ's event stream, which would otherwise keep ten thousand events.
const streams = { events: { maxLen: 100 } }

/** Options for producers: jobs are removed when they end, and errors are stored without messages and stacks. */
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

/** Options for consumers. */
export function consumerOptions({ retry, locks, concurrency }: Settings) {
  return {
    concurrency,
    lockDuration: locks.lockSeconds * 1000,
    stalledInterval: locks.checkSeconds * 1000,
    // A killed process is not the fault of its jobs, however often it happens.
    maxStalledCount: 1_000_000,
    // Also bounds how long a pause waits for a consumer that is waiting for its server.
    runRetryDelay: 1000,
    settings: { backoffStrategy: (attemptsMade: number) => backoffMs(attemptsMade, retry) },
  }
}
