import type { Job } from 'bullmq'
import { backoffMs, type Retry } from './backoff.ts'

/** How soon another worker takes up a job whose worker died. */
export type Locks = {
  /** For how long a job belongs to a worker that shows no sign of life. */
  readonly lockSeconds: number
  readonly checkSeconds: number
}

/** Settings of the workers of a queue. */
export type Settings = { readonly retry: Retry; readonly locks: Locks; readonly concurrency: number }

/** Zero goes first, then the lower number. */
type JobOptions = { jobId: string; delay: number; priority: number }

/** The part of BullMQ's Queue that we use, the same for each backend. */
export type Producer = {
  waitUntilReady(): Promise<unknown>
  getVersion(): Promise<string | null>
  add(name: string, data: object, opts: JobOptions): Promise<unknown>
  addBulk(jobs: { name: string; data: object; opts: JobOptions }[]): Promise<unknown>
  obliterate(options: { force: boolean }): Promise<void>
  getWaitingCount(): Promise<number>
  /** Those that wait and have a priority, which the other number leaves out. */
  getPrioritizedCount(): Promise<number>
  /** The ids of the jobs in these states, from the first to the last one; -1: to the very last. */
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

/** Where jobs are kept. It makes the queue's two ends there, and closes what it opened when it is disposed. */
export type Backend = {
  /** For messages; never holds a password. */
  readonly location: string
  createProducer(name: string, retry: Retry): Producer
  /** Writes what is of no use to anyone, and reads it. Throws what the server says. */
  probe(): Promise<void>
  /** The consumer with its own connection, which is dropped on disposal, also while its server is away. */
  createConsumer(
    name: string,
    processor: Processor,
    settings: Settings,
  ): { readonly worker: Consumer; [Symbol.dispose](): void }
  [Symbol.asyncDispose](): Promise<void>
}

// No code of ours reads BullMQ's stream of events; it would otherwise keep ten thousand of them.
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
