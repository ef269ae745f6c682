import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq'
import type { Events } from '../telemetry/events.ts'
import type { Backend, Settings } from './backend.ts'
import type { BoundWorkers } from './jobs.ts'
import { type HandedOut, type JobOutcome, runJob } from './run-job.ts'
import { orUnreachableWithin, settlesWithin } from './unreachable.ts'

/** A running worker. */
export type RunningWorker = {
  /**
   * Takes no further jobs and lets those in flight finish within the bound; then aborts them and returns them to the queue. Takes at most
   * a few seconds longer than the bound, also while the queue is unreachable.
   */
  stop(options: { readonly withinMs: number }): Promise<void>
  /** Stops at once. */
  [Symbol.asyncDispose](): Promise<void>
}

// How long a consumer may take to connect, the queue to record how the last jobs ended, and to close.
const readyWithinMs = 15_000
const recordWithinMs = 3000
const closeWithinMs = 1000

type StartedWorker = {
  readonly consumer: ReturnType<Backend['createConsumer']>
  readonly inFlight: ReadonlySet<Promise<JobOutcome>>
  readonly stopping: AbortController
}

/** Starts taking jobs from the queue, as many at a time as the settings allow. */
export async function startWorking(options: {
  readonly backend: Backend
  readonly name: string
  readonly workers: BoundWorkers
  readonly settings: Settings
  readonly events: Events
}): Promise<RunningWorker> {
  const { backend, name, workers, settings, events } = options
  const stopping = new AbortController()
  const inFlight = new Set<Promise<JobOutcome>>()

  async function process(job: Job, token: string | undefined): Promise<void> {
    const running = runJob(handedOut(job), workers, { signal: stopping.signal, events })
    inFlight.add(running)
    const outcome = await running
    inFlight.delete(running)
    await obey(outcome, job, token)
  }

  const started: StartedWorker = { consumer: backend.createConsumer(name, process, settings), inFlight, stopping }
  try {
    await orUnreachableWithin(readyWithinMs, started.consumer.worker.waitUntilReady(), backend.location)
  } catch (error) {
    await stopWorking(started, 0)
    throw error
  }
  let stopped: Promise<void> | undefined
  const stop = (withinMs: number): Promise<void> => {
    stopped ??= stopWorking(started, withinMs)
    return stopped
  }
  return { stop: ({ withinMs }) => stop(withinMs), [Symbol.asyncDispose]: () => stop(0) }
}

function handedOut({ id = '', name, data, attemptsMade, opts }: Job): HandedOut {
  return { id, name, data, attempt: attemptsMade + 1, attempts: opts.attempts ?? 1 }
}

/** Applies the outcome of a job to the queue. Only the code of a failure is passed on, never a message. */
async function obey(outcome: JobOutcome, job: Job, token: string | undefined): Promise<void> {
  switch (outcome.kind) {
    case 'finished':
      return
    case 'postponed':
      await job.moveToDelayed(Date.now() + outcome.delayMs, token)
      throw new DelayedError()
    case 'returned':
      await job.moveToWait(token)
      throw new WaitingError()
    case 'failed':
      throw outcome.final ? new UnrecoverableError(outcome.code) : new Error(outcome.code)
    default:
      return outcome satisfies never
  }
}

// Every step is bounded, because each one would wait for ever while Redis is away.
async function stopWorking({ consumer, inFlight, stopping }: StartedWorker, withinMs: number): Promise<void> {
  const paused = consumer.worker.pause()
  await settlesWithin(withinMs, Promise.all(inFlight))
  stopping.abort()
  await settlesWithin(recordWithinMs, paused)
  await settlesWithin(closeWithinMs, consumer.worker.close(true))
  consumer[Symbol.dispose]()
}
