import { z } from 'zod'

/** Every job by name with its payload: ids only. A worker reads the present state from the store when it runs. */
export const jobs = {
  run: z.strictObject({ runId: z.uuid() }),
  upsert: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
  update: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
  delete: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
  session: z.strictObject({ runId: z.uuid(), batch: z.int().nonnegative() }),
} as const

/** The name of a job. */
export type JobName = keyof typeof jobs

/** Where jobs wait. Each line has workers of its own, so that no job waits for those of another line. */
export const lines = ['short', 'long runs', 'long batches'] as const
/** The line that a job waits in. */
export type Line = (typeof lines)[number]

type Payloads = { readonly [N in JobName]: z.infer<(typeof jobs)[N]> }
/** The payload of a job. */
export type Payload<N extends JobName> = Payloads[N]

/** The function behind each job. Running one twice gives the same end as running it once. */
export type Workers<Ctx> = {
  readonly [N in JobName]: (ctx: Ctx, payload: Payloads[N], signal: AbortSignal) => Promise<void>
}

/** Workers that have their context already, as a queue runs them. */
export type BoundWorkers = {
  readonly [N in JobName]: (payload: Payloads[N], signal: AbortSignal) => Promise<void>
}

/** A job to enqueue. While a job with the same id is unfinished, enqueueing it again does nothing. */
export type Enqueued = {
  readonly [N in JobName]: {
    readonly name: N
    readonly payload: Payloads[N]
    /** Unique in the queue; holds no colon and is not just a number. */
    readonly id: string
    readonly delayMs?: number
    /** How many rounds of other jobs of its line go first; without any, it is behind none that comes later. */
    readonly round?: number
    /** `short` where it is left out. */
    readonly line?: Line
  }
}[JobName]

/** Whether a name that a queue hands out is one of our jobs. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(jobs, name)
}

/** The payload of the named job, or a ZodError for anything that is not one. */
export function parsePayload<N extends JobName>(name: N, data: unknown): Payloads[N] {
  const schemas: { readonly [K in JobName]: z.ZodType<Payloads[K]> } = jobs
  return schemas[name].parse(data)
}

/** Thrown by a worker whose job has to wait without having failed, as when a platform asks for patience. It uses up no attempt. */
export class Postponed extends Error {
  override readonly name = 'Postponed'
  readonly delayMs: number

  constructor(delayMs: number, message = `postponed by ${delayMs} ms`) {
    super(message)
    this.delayMs = delayMs
  }
}
