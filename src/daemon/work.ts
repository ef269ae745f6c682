import { processRoles } from '../contract/control/process-roles.ts'
import type { ProcessRole } from '../contract/control/processes.ts'
import { maintain, maintainRegularly } from '../database/maintain.ts'
import { type BoundWorkers, type JobName, type Line, lines, Postponed } from '../queue/jobs.ts'
import { forgetEvents } from '../store/inbox/inbox.ts'
import { removeExpired } from '../store/retention/retain.ts'
import { formerRows } from '../store/runs/claims.ts'
import type { Platform } from '../sync/context/context.ts'
import {
  compareDirectories,
  compareEffective,
  makeOwedStatements,
  requestEventRuns,
  type SyncContext,
  sweep,
  syncWorkers,
  verifyLeavers,
  verifyPeopleInDoubt,
} from '../sync/sync.ts'
import { repeat } from '../system/repeat.ts'
import type { SpanAttributes } from '../telemetry/traces.ts'
import type { Assembly } from './assembly.ts'
import type { WorkScheduler } from './work-scheduler.ts'

/**
 * How many jobs of each line a process works on at once. Of long runs, one reads while another one's rows are stored; more would not end
 * sooner. More batches would not be sent sooner than the platform takes requests.
 */
const concurrency: Readonly<Record<Line, number>> = { short: 5, 'long runs': 3, 'long batches': 4 }
const sweepMs = 60_000
/** How often an idle worker looks in the store for work that the queue has lost. */
const idleCheckMs = 3000
const eventRunsMs = 1000
/** Departures have due times of their own; this is how late one can be verified. */
const leaversMs = 5 * 60_000
/** The comparison of everyone has a due time of its own; this is how late it can begin. */
const effectiveMs = 60_000
/** People in doubt have due times of their own; this is how late one can be verified. */
const inDoubtMs = 10_000
const forgetMs = 60 * 60_000
const retentionMs = 10 * 60_000
/** An embedded database does not vacuum by itself. */
const maintainMs = 60_000
/** How many portions a command removes at its end; the next command continues. */
const maxPortionsAtEnd = 10
/** How long running jobs may take to end. The rest of the twenty seconds of a stop is for closing what they used. */
const stopWithinMs = 12_000

/**
 * Starts the workers and the sweep, which enqueues due work that the queue does not have, and the tasks of the role scheduler. All of it
 * may run in several processes: the store decides who does what.
 */
export async function startWork(
  assembly: Assembly,
  roles: readonly ProcessRole[] = processRoles,
): Promise<AsyncDisposable> {
  const { queue, sync } = assembly
  await using starting = new AsyncDisposableStack()
  const isWorker = roles.includes('worker')
  if (isWorker) starting.use(await startWorkers(assembly))
  if (isWorker || roles.includes('scheduler')) {
    await sweep(sync, { unavailableJobs: queue.unavailableJobs })
    starting.use(regularly(sync, 'sweep', idleCheckMs, sweepWhenIdle(assembly, isWorker)))
    // Not at the start: first the days that came meanwhile are served. Apart from the sweep, which fails while the queue is unreachable.
    starting.use(regularly(sync, 'statement', sweepMs, () => makeOwedStatements(sync)))
  }
  if (roles.includes('scheduler')) starting.use(startSchedulerTasks(assembly))
  return starting.move()
}

async function startWorkers({ queue, sync, scheduler }: Assembly): Promise<AsyncDisposable> {
  const workers = await Promise.all(
    lines.map((line) => queue.work(boundTo(sync, line, scheduler), { concurrency: concurrency[line], line })),
  )
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker.stop({ withinMs: stopWithinMs })))
    },
  }
}

/** The regular tasks of the role scheduler: retention, maintenance, verification of leavers, of people in doubt and of everyone, events. */
function startSchedulerTasks({ sync, config }: Assembly): AsyncDisposable {
  const tasks = new AsyncDisposableStack()
  tasks.use(regularly(sync, 'retention', retentionMs, () => removeOld({ sync, config })))
  if (sync.store.kind === 'pglite') {
    const failed = (error: unknown): void => sync.events.unexpected({ during: 'maintenance', error })
    tasks.use(maintainRegularly(sync.store.pool, { pauseMs: maintainMs, failed }))
  }
  const stopping = new AbortController()
  const { signal } = stopping
  const connections = [...sync.connections.keys()]
  tasks.use(
    regularly(sync, 'in-doubt', inDoubtMs, () =>
      verifyPeopleInDoubt(sync, { connections, repairs: 'by a run', signal }),
    ),
  )
  tasks.use(regularly(sync, 'leavers', leaversMs, () => verifyLeavers(sync, { connections, signal })))
  tasks.use(regularly(sync, 'effective', effectiveMs, () => compareEffective(sync, { always: false, signal })))
  tasks.use(regularly(sync, 'directories', effectiveMs, () => compareDirectories(sync, { always: false, signal })))
  tasks.defer(() => stopping.abort())
  if ([...sync.connections.values()].some(({ feeds }) => feeds.webhook)) {
    tasks.use(regularly(sync, 'event-runs', eventRunsMs, () => requestEventRuns(sync)))
    tasks.use(regularly(sync, 'inbox', forgetMs, () => forgetEvents(sync.store.db, { now: sync.now() })))
  }
  return tasks
}

function regularly(
  { events }: SyncContext,
  during: string,
  pauseMs: number,
  task: () => Promise<unknown>,
): AsyncDisposable {
  return repeat(task, { pauseMs, onError: (error) => events.unexpected({ during, error }) })
}

/**
 * Sweeps every minute, and as soon as this worker is free and no job waits. So work continues within seconds of a queue that was restored
 * empty, or of a database to which the end of an attempt could not be written. Only the sweep of each minute reports an unreachable
 * server.
 */
function sweepWhenIdle({ queue, sync }: Assembly, isWorker: boolean): () => Promise<void> {
  let sweptMs = performance.now()
  return async () => {
    const isTime = performance.now() - sweptMs >= sweepMs
    if (isTime) sweptMs = performance.now()
    try {
      const hasCapacity = isWorker && sync.lease.atWork.size < concurrency.short
      if (isTime || (hasCapacity && (await queue.waiting()) === 0)) await sweep(sync, { retries: isTime })
    } catch (error) {
      if (isTime) throw error
    }
  }
}

/** Removes what is older than the retention settings allow, at most `portions` portions of it. */
async function removeOld({ sync, config }: Pick<Assembly, 'sync' | 'config'>, portions?: number): Promise<void> {
  const { runs, values, events } = await removeExpired(sync.store.db, { ...config.retention, portions }, sync.now())
  if (runs + values + events > 0) sync.events.valuesRemoved({ runs, values, events })
}

/**
 * Applies the retention settings in part at the end of a command, and vacuums an embedded database where that is due. Errors are
 * reported as an event and do not fail the command.
 */
export async function tidyUp(assembly: Pick<Assembly, 'sync' | 'config'>): Promise<void> {
  const { store, events } = assembly.sync
  try {
    await removeOld(assembly, maxPortionsAtEnd)
    if (store.kind === 'pglite') await maintain(store.pool)
  } catch (error) {
    events.unexpected({ during: 'retention', error })
  }
}

type ScheduledJob = {
  readonly job: JobName
  readonly runId: string
  readonly attributes: SpanAttributes
  readonly isLong: boolean
}

/** The workers of a line, which the scheduler lets work. */
function boundTo(sync: SyncContext, line: Line, scheduler: WorkScheduler): BoundWorkers {
  const isExpected = (error: unknown): boolean => error instanceof Postponed
  const scheduled = (
    { job, runId, attributes, isLong }: ScheduledJob,
    work: (ctx: SyncContext) => Promise<void>,
  ): Promise<void> =>
    scheduler[isLong ? 'long' : 'short']((yieldToShortWork) => {
      const platform = isLong ? lowPriority(sync.platform) : sync.platform
      const part = { runId, name: `job ${job}`, kind: 'job' as const, attributes, isExpected }
      return sync.traces.ofRun(part, () => work({ ...sync, yieldToShortWork, platform }))
    })
  const batchWorker = (job: Exclude<JobName, 'run'>): BoundWorkers['upsert'] => {
    return ({ runId, batch }, signal) => {
      const about = { job, runId, attributes: { 'rollcall.batch': batch }, isLong: line !== 'short' }
      return scheduled(about, (ctx) => syncWorkers[job](ctx, { runId, batch }, signal))
    }
  }
  return {
    run: async (payload, signal) => {
      const { runId } = payload
      const isLong = line !== 'short' && !(await isFirstRun(sync, runId))
      await scheduled({ job: 'run', runId, attributes: {}, isLong }, (ctx) => syncWorkers.run(ctx, payload, signal))
    },
    upsert: batchWorker('upsert'),
    update: batchWorker('update'),
    delete: batchWorker('delete'),
    session: batchWorker('session'),
  }
}

/** Whether no run of the connection has read the source before, so that the length of this one is unknown. */
async function isFirstRun({ store: { db } }: SyncContext, runId: string): Promise<boolean> {
  return (await formerRows(db, [runId])).get(runId) === null
}

function lowPriority(platform: Platform): Platform {
  return { ...platform, rateLimiter: platform.rateLimiter.lowPriority }
}
