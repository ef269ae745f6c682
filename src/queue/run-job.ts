import { ZodError } from 'zod'
import { databaseFailure } from '../database/failures.ts'
import { Failure } from '../errors.ts'
import type { Events } from '../telemetry/events.ts'
import { type BoundWorkers, isJobName, type JobName, Postponed, parsePayload } from './jobs.ts'

/** A job from a queue, not yet validated. */
export type HandedOut = {
  readonly id: string
  readonly name: string
  readonly data: unknown
  /** Counted from 1. */
  readonly attempt: number
  readonly attempts: number
}

/** How a job ended. It determines what the queue does with the job. */
export type JobOutcome =
  | { readonly kind: 'finished' }
  | { readonly kind: 'postponed'; readonly delayMs: number }
  | { readonly kind: 'returned' }
  | { readonly kind: 'failed'; readonly final: boolean; readonly code: string; readonly reason: string }

type Context = { readonly signal: AbortSignal; readonly events: Events }

// How long an aborted worker may take to clean up.
const lastWordsMs = 1000

/**
 * Runs a job's worker and returns how it ended; never throws. A failure is final on the last attempt, if the payload does not fit, or if
 * trying again cannot help. A job that has not ended well when `signal` is aborted is returned.
 */
export async function runJob(job: HandedOut, workers: BoundWorkers, context: Context): Promise<JobOutcome> {
  const startedMs = performance.now()
  const outcome = await outcomeOf(job, workers, context)
  report(outcome, job, Math.round(performance.now() - startedMs), context.events)
  return outcome
}

async function outcomeOf(job: HandedOut, workers: BoundWorkers, { signal, events }: Context): Promise<JobOutcome> {
  if (signal.aborted) return { kind: 'returned' }
  const { name } = job
  if (!isJobName(name)) return { kind: 'failed', final: true, code: 'job_unknown', reason: 'no job has this name' }
  try {
    return await unlessAbandoned(() => work(name, job.data, workers, signal), signal)
  } catch (error) {
    if (signal.aborted) return { kind: 'returned' }
    if (error instanceof Postponed) return { kind: 'postponed', delayMs: error.delayMs }
    return failureOutcome(error, job, events)
  }
}

async function work<N extends JobName>(
  name: N,
  data: unknown,
  workers: BoundWorkers,
  signal: AbortSignal,
): Promise<JobOutcome> {
  await workers[name](payloadOf(name, data), signal)
  return { kind: 'finished' }
}

class PayloadInvalid extends Error {
  override readonly name = 'PayloadInvalid'
}

function payloadOf<N extends JobName>(name: N, data: unknown) {
  try {
    return parsePayload(name, data)
  } catch (error) {
    if (!(error instanceof ZodError)) throw error
    throw new PayloadInvalid('the payload does not fit its schema', { cause: error })
  }
}

/** Runs the work and returns its outcome, or `returned` if it is still running some time after the abort. */
async function unlessAbandoned(start: () => Promise<JobOutcome>, signal: AbortSignal): Promise<JobOutcome> {
  const abandoned = Promise.withResolvers<JobOutcome>()
  let timer: NodeJS.Timeout | undefined
  const startWaiting = (): void => {
    timer = setTimeout(() => abandoned.resolve({ kind: 'returned' }), lastWordsMs)
  }
  signal.addEventListener('abort', startWaiting, { once: true })
  try {
    return await Promise.race([start(), abandoned.promise])
  } finally {
    signal.removeEventListener('abort', startWaiting)
    clearTimeout(timer)
  }
}

function failureOutcome(error: unknown, job: HandedOut, events: Events): JobOutcome {
  const isLast = job.attempt >= job.attempts
  if (error instanceof PayloadInvalid) {
    return { kind: 'failed', final: true, code: 'payload_invalid', reason: error.message }
  }
  const failure = error instanceof Failure ? error : databaseFailure(error)
  if (failure !== null) {
    return { kind: 'failed', final: isLast || !failure.retry, code: failure.code, reason: failure.message }
  }
  events.unexpected({ during: `job ${job.name} ${job.id}`, error })
  return { kind: 'failed', final: isLast, code: 'unexpected', reason: 'an unexpected error' }
}

function report(outcome: JobOutcome, { name: job, id, attempt }: HandedOut, durationMs: number, events: Events): void {
  switch (outcome.kind) {
    case 'finished':
      events.jobFinished({ job, id, durationMs })
      break
    case 'postponed':
      events.jobPostponed({ job, id, delayMs: outcome.delayMs })
      break
    case 'returned':
      events.jobReturned({ job, id })
      break
    case 'failed':
      events.jobFailed({ job, id, attempt, final: outcome.final, code: outcome.code, reason: outcome.reason })
      break
    default:
      outcome satisfies never
  }
}
