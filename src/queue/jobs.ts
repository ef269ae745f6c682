import { z } from 'zod'

/** Every job by name with its payload: only IDs. A worker reads the current state from the store when it runs. */
export const jobs = {
  run: z.strictObject({ runId: z.uuid() }),
  upsert: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
  update: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
  delete: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
  session: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
} as const

/** The name of a job. */
export type JobName = keyof typeof jobs

/** The lines in which jobs wait. Each line has its own workers, so that no job waits for jobs of another line. */
export const lines = ['short', 'long runs', 'long batches'] as const
/** The line that a job waits in. */
export type Line = (typeof lines)[number]

type Payloads = { readonly [N in JobName]: z.infer<(typeof jobs)[N]> }
/** The payload of a job. */
export type Payload<N extends JobName> = Payloads[N]

/** The function of each job. Running it twice has the same effect as running it once. */
export type Workers<Ctx> = {
  readonly [N in JobName]: (ctx: Ctx, payload: Payloads[N], signal: AbortSignal) => Promise<void>
}

/** Workers with their context, as a queue runs them. */
export type BoundWorkers = {
  readonly [N in JobName]: (payload: Payloads[N], signal: AbortSignal) => Promise<void>
}

/** A job to enqueue. While a job with the same id is unfinished, enqueueing it again does nothing. */
export type JobRequest = {
  readonly [N in JobName]: {
    readonly name: N
    readonly payload: Payloads[N]
    /** Unique in the queue. Contains no colon and is not just a number. */
    readonly id: string
    readonly delayMs?: number
    /** The priority among the jobs of its line: higher rounds wait for lower ones, and 0 goes first. */
    readonly round?: number
    /** Default: `short`. */
    readonly line?: Line
  }
}[JobName]

/** Whether a name from a queue is one of our jobs. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(jobs, name)
}

/** The parsed payload of a job. Throws a ZodError for anything else. */
export function parsePayload<N extends JobName>(name: N, data: unknown): Payloads[N] {
  const schemas: { readonly [K in JobName]: z.ZodType<Payloads[K]> } = jobs
  return schemas[name].parse(data)
}

/** Thrown by a worker whose job has to wait without having failed, for example for a rate limit. It uses up no attempt. */
export class Postponed extends Error {
  override readonly name = 'Postponed'
  readonly delayMs: number

  constructor(delayMs: number, message = `postponed by ${delayMs} ms`) {
    super(message)
    this.delayMs = delayMs
  }
}
