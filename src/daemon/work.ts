import { processRoles } from '../contract/control/process-roles.ts'
import type { ProcessRole } from '../contract/control/processes.ts'
import { maintain, maintainRegularly } from '../database/maintain.ts'
import { type BoundWorkers, type JobName, type Line, lines, Postponed } from '../queue/jobs.ts'
import { forgetEvents } from '../store/inbox/inbox.ts'
import { retain } from '../store/retention/retain.ts'
import { formerRows } from '../store/runs/claims.ts'
import type { Platform } from '../sync/context/context.ts'
import {
  verifyPeopleInDoubt,
  readBackLeavers,
  requestEventRuns,
  type SyncContext,
  sweep,
  syncWorkers,
} from '../sync/sync.ts'
import { repeat } from '../system/repeat.ts'
import type { SpanAttributes } from '../telemetry/traces.ts'
import type { Assembly } from './assembly.ts'
import type { WorkScheduler } from './work-scheduler.ts'

/**
 * How many jobs of each line are worked on at once. Of long runs one reads while another one's rows are stored; more of them would not be
 * over sooner. More batches would not be answered sooner than the platform takes requests.
 */
const concurrency: Readonly<Record<Line, number>> = { short: 5, 'long runs': 3, 'long batches': 4 }
const sweepMs = 60_000
/** A worker with nothing to do looks this often whether the store has work that the queue has lost. */
const lookMs = 3000
const eventRunsMs = 1000
/** Departures have due times of their own; this is how late one can be. */
const leaversMs = 5 * 60_000
/** People in doubt have due times of their own, the same. */
const inDoubtMs = 10_000
const forgetMs = 60 * 60_000
const retainMs = 10 * 60_000
/** An embedded database does not vacuum by itself. */
const maintainMs = 60_000
/** What a command removes at its end; the next one goes on. */
const portionsAtTheEnd = 10
/** How long jobs in flight may take to end; the rest of the twenty seconds is for closing what they used. */
const stopWithinMs = 12_000

/**
 * Starts the workers, and the sweep that enqueues now and then whatever is due and the queue does not have; and what the role scheduler
 * looks after. All of it may run in several processes: the store decides who does what.
 */
export async function startWork(
  { queue, sync, config, scheduler }: Assembly,
  roles: readonly ProcessRole[] = processRoles,
): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  const works = roles.includes('worker')
  if (works) {
    const working = await Promise.all(
      lines.map((line) => queue.work(boundTo(sync, line, scheduler), { concurrency: concurrency[line], line })),
    )
    starting.defer(async () => {
      await Promise.all(working.map((one) => one.stop({ withinMs: stopWithinMs })))
    })
  }
  if (works || roles.includes('scheduler')) {
    await sweep(sync, { held: queue.held })
    starting.use(regularly('sweep', lookMs, sweepWhenIdle({ queue, sync, works })))
  }
  if (!roles.includes('scheduler')) return starting.move()
  starting.use(regularly('retention', retainMs, () => removeOld({ sync, config })))
  if (sync.store.kind === 'pglite') {
    const failed = (error: unknown): void => sync.events.unexpected({ during: 'maintenance', error })
    starting.use(maintainRegularly(sync.store.pool, { pauseMs: maintainMs, failed }))
  }
  const stopping = new AbortController()
  const connections = [...sync.connections.keys()]
  const reading = { connections, repairs: 'by a run', signal: stopping.signal } as const
  starting.use(regularly('in-doubt', inDoubtMs, () => verifyPeopleInDoubt(sync, reading)))
  starting.use(regularly('leavers', leaversMs, () => readBackLeavers(sync, { connections, signal: stopping.signal })))
  starting.defer(() => stopping.abort())
  if ([...sync.connections.values()].some(({ feeds }) => feeds.webhook)) {
    starting.use(regularly('event-runs', eventRunsMs, () => requestEventRuns(sync)))
    starting.use(regularly('inbox', forgetMs, () => forgetEvents(sync.store.db, { now: sync.now() })))
  }
  return starting.move()

  function regularly(during: string, pauseMs: number, task: () => Promise<unknown>): AsyncDisposable {
    return repeat(task, { pauseMs, failed: (error) => sync.events.unexpected({ during, error }) })
  }
}

/**
 * Sweeps every minute, and as soon as this process could work on more and no job waits. So work goes on within seconds of a queue that
 * came back empty, or of a database to which the end of an attempt could not be written. A server that is away is reported by the
 * sweep of each minute only.
 */
function sweepWhenIdle({
  queue,
  sync,
  works,
}: Pick<Assembly, 'queue' | 'sync'> & { works: boolean }): () => Promise<void> {
  let sweptMs = performance.now()
  return async () => {
    const isTime = performance.now() - sweptMs >= sweepMs
    if (isTime) sweptMs = performance.now()
    try {
      if (isTime || (works && sync.lease.atWork.size < concurrency.short && (await queue.waiting()) === 0))
        await sweep(sync, { retries: isTime })
    } catch (error) {
      if (isTime) throw error
    }
  }
}

/** Removes what has been kept for as long as is allowed. */
async function removeOld(
  { sync, config }: Pick<Assembly, 'sync' | 'config'>,
  { portions }: { portions?: number } = {},
): Promise<void> {
  const settings = { ...config.retention, ...(portions !== undefined && { portions }) }
  const { runs, values, events } = await retain(sync.store.db, settings, sync.now())
  if (runs + values + events > 0) sync.events.valuesRemoved({ runs, values, events })
}

/**
 * Removes some of it at the end of a command that works, and vacuums an embedded database where that is due. What goes wrong is told, and
 * does not concern the command.
 */
export async function tidyUp(assembly: Pick<Assembly, 'sync' | 'config'>): Promise<void> {
  const { store, events } = assembly.sync
  try {
    await removeOld(assembly, { portions: portionsAtTheEnd })
    if (store.kind === 'pglite') await maintain(store.pool)
  } catch (error) {
    events.unexpected({ during: 'retention', error })
  }
}

/** The workers of a line. */
function boundTo(sync: SyncContext, line: Line, scheduler: WorkScheduler): BoundWorkers {
  const isExpected = (error: unknown): boolean => error instanceof Postponed
  type Job = { readonly job: JobName; readonly runId: string; readonly facts: SpanAttributes; readonly isLong: boolean }
  const inTurn = ({ job, runId, facts, isLong }: Job, work: (ctx: SyncContext) => Promise<void>) =>
    scheduler[isLong ? 'long' : 'short']((yieldToShortWork) => {
      const ctx = { ...sync, yieldToShortWork, ...(isLong && { platform: lowPriority(sync.platform) }) }
      return sync.traces.ofRun({ runId, name: `job ${job}`, kind: 'job', attributes: facts, isExpected }, () =>
        work(ctx),
      )
    })
  const batchWorker = (job: Exclude<JobName, 'run'>): BoundWorkers['upsert'] => {
    return ({ runId, batch }, signal) => {
      const about = { job, runId, facts: { 'rollcall.batch': batch }, isLong: line !== 'short' }
      return inTurn(about, (ctx) => syncWorkers[job](ctx, { runId, batch }, signal))
    }
  }
  return {
    run: async (payload, signal) => {
      const { runId } = payload
      const isLong = line !== 'short' && !(await isFirst(sync, runId))
      await inTurn({ job: 'run', runId, facts: {}, isLong }, (ctx) => syncWorkers.run(ctx, payload, signal))
    },
    upsert: batchWorker('upsert'),
    update: batchWorker('update'),
    delete: batchWorker('delete'),
    session: batchWorker('session'),
  }
}

/** Whether nobody knows how long a run is, as none of its connection has read the source before. */
async function isFirst({ store: { db } }: SyncContext, runId: string): Promise<boolean> {
  return (await formerRows(db, [runId])).get(runId) === null
}

/** The way to the platform for work that has time. */
function lowPriority(platform: Platform): Platform {
  return { ...platform, rateLimiter: platform.rateLimiter.lowPriority }
}
