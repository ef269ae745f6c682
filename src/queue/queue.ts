import type { Pool } from '../database/pool.ts'
import type { Events } from '../telemetry/events.ts'
import type { Backend, Locks, Producer } from './backend.ts'
import { defaultRetry, type Retry } from './backoff.ts'
import { openDatabaseBackend } from './database-backend.ts'
import { type BoundWorkers, type JobRequest, type Line, lines, parsePayload } from './jobs.ts'
import { openRedisBackend } from './redis-backend.ts'
import { orUnreachable, orUnreachableWithin } from './unreachable.ts'
import { type RunningWorker, startWorking } from './working.ts'

/** The backend of the queue, and its settings. */
export type QueueOptions = {
  readonly backend:
    | { readonly kind: 'redis'; readonly url: string }
    | { readonly kind: 'database'; readonly database: { readonly pool: Pool; readonly location: string } }
  /** Distinguishes queues that share one Redis or one database. Contains no colon. */
  readonly name?: string
  readonly events: Events
  readonly retry?: Partial<Retry>
  readonly locks?: Partial<Locks>
}

/** The queue of jobs. Jobs may be lost: the store knows the work that remains, and the sweep enqueues it again. */
export type Queue = {
  /** For messages; never holds a password. */
  readonly location: string
  /** Adds jobs in bulk. A job whose ID is already in the queue and unfinished stays as it is. */
  enqueue(jobs: readonly JobRequest[]): Promise<void>
  /** Starts working on the jobs of a line, several at a time. Default: `short`. */
  work(workers: BoundWorkers, options: { readonly concurrency: number; readonly line?: Line }): Promise<RunningWorker>
  /** Tests a write and a read. Fails with `queue_unreachable` without an answer within a few seconds. */
  check(): Promise<void>
  /** How many jobs wait for a worker, in all lines. */
  waiting(): Promise<number>
  /** The IDs of jobs that no worker can take now: they are delayed, or belong to a worker, perhaps of a process that has ended. */
  unavailableJobs(): Promise<ReadonlySet<string>>
  /** Removes every job, also those in progress. The caller must know that no other process works. */
  clear(): Promise<void>
  /** Stops all workers at once, and closes the queue's own connections. A passed database stays open. */
  [Symbol.asyncDispose](): Promise<void>
}

const defaultName = 'jobs'
/** The suffix of the queue name of each line. */
const suffixes: Readonly<Record<Line, string>> = {
  short: '',
  'long runs': '-long-runs',
  'long batches': '-long-batches',
}
const defaultLocks: Locks = { lockSeconds: 30, checkSeconds: 15 }
const checkWithinMs = 5000

/**
 * Opens the queue in Redis or in a database. Fails with `queue_unreachable` if the server is away, and with `config_invalid` if a Redis
 * would lose jobs or refuses the credentials.
 */
export async function openQueue({
  backend: where,
  name = defaultName,
  events,
  ...options
}: QueueOptions): Promise<Queue> {
  const retry = { ...defaultRetry, ...options.retry }
  const locks = { ...defaultLocks, ...options.locks }
  await using opening = new AsyncDisposableStack()
  const backend = opening.use(await openBackend(where, events))
  const producers = new Map<Line, Producer>()
  opening.defer(async () => {
    await Promise.all([...producers.values()].map((producer) => producer.close()))
  })
  // A producer that is created while its server is away would never work.
  for (const line of lines) await orUnreachable(producerOf(line).getVersion(), backend.location)
  const workings = new Set<RunningWorker>()
  opening.defer(async () => {
    await Promise.all([...workings].map((working) => working.stop({ withinMs: 0 })))
  })
  const opened = opening.move()

  function producerOf(line: Line): Producer {
    return producers.getOrInsertComputed(line, () => backend.createProducer(`${name}${suffixes[line]}`, retry))
  }

  return {
    location: backend.location,
    async enqueue(jobs) {
      for (const [line, group] of Map.groupBy(jobs, (job) => job.line ?? 'short')) {
        await orUnreachable(add(producerOf(line), group.map(bulkEntry)), backend.location)
      }
    },
    async work(workers, { concurrency, line = 'short' }) {
      const working = await startWorking({
        backend,
        name: `${name}${suffixes[line]}`,
        workers,
        settings: { retry, locks, concurrency },
        events,
      })
      workings.add(working)
      return working
    },
    async check() {
      const answers = Promise.all([producerOf('short').getWaitingCount(), backend.probe()])
      await orUnreachableWithin(checkWithinMs, answers, backend.location)
    },
    async waiting() {
      const counts = lines.map(producerOf).flatMap((line) => [line.getWaitingCount(), line.getPrioritizedCount()])
      const waiting = await orUnreachableWithin(checkWithinMs, Promise.all(counts), backend.location)
      return waiting.reduce((sum, count) => sum + count, 0)
    },
    async unavailableJobs() {
      const ids = lines.map((line) => producerOf(line).getRanges(['active', 'delayed'], 0, -1))
      return new Set((await orUnreachableWithin(checkWithinMs, Promise.all(ids), backend.location)).flat())
    },
    async clear() {
      for (const line of lines) await orUnreachable(producerOf(line).obliterate({ force: true }), backend.location)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function openBackend(where: QueueOptions['backend'], events: Events): Promise<Backend> {
  return where.kind === 'redis' ? openRedisBackend(where.url, events) : openDatabaseBackend(where.database, events)
}

type BulkJob = Parameters<Producer['addBulk']>[0][number]

function add(producer: Producer, jobs: BulkJob[]): Promise<unknown> {
  const [only, ...others] = jobs
  // Adding in bulk makes temporary tables, which leave dead rows in the catalogue of a database.
  return only && others.length === 0 ? producer.add(only.name, only.data, only.opts) : producer.addBulk(jobs)
}

function bulkEntry({ name, payload, id, delayMs, round = 0 }: JobRequest): BulkJob {
  return { name, data: parsePayload(name, payload), opts: { jobId: id, delay: delayMs ?? 0, priority: round } }
}
