import type { Job } from 'bullmq'
import type { Retry } from './backoff.ts'

/** How soon a job whose worker died is taken up by another. */
export type Locks = {
  /** For how long a job belongs to a worker that shows no sign of life. */
  readonly lockSeconds: number
  readonly checkSeconds: number
}

export type Settings = { readonly retry: Retry; readonly locks: Locks; readonly concurrency: number }

/** The part of BullMQ's Queue that we use, whatever keeps its jobs. */
export type Producer = {
  waitUntilReady(): Promise<unknown>
  getVersion(): Promise<string | null>
  addBulk(jobs: { name: string; data: object; opts: { jobId: string; delay: number } }[]): Promise<unknown>
  obliterate(options: { force: boolean }): Promise<void>
  getWaitingCount(): Promise<number>
  close(): Promise<void>
}

/** The part of BullMQ's Worker that we use. */
export type Consumer = {
  waitUntilReady(): Promise<void>
  pause(): Promise<void>
  close(force: boolean): Promise<void>
}

export type Processor = (job: Job, token: string | undefined) => Promise<void>

/** Where jobs are kept: makes the queue's two ends there. What it opened is closed when it is disposed. */
export type Backend = {
  /** For messages; never holds a password. */
  readonly place: string
  createProducer(name: string, retry: Retry): Producer
  /** The consumer with its own connection, which is dropped on disposal, also while its server is away. */
  createConsumer(
    name: string,
    processor: Processor,
    settings: Settings,
  ): { readonly worker: Consumer; [Symbol.dispose](): void }
  [Symbol.asyncDispose](): Promise<void>
}
