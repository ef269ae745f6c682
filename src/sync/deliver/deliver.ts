import { deliveryFailures } from '../../contract/failures.ts'
import type { AnyAnswer } from '../../http/answer.ts'
import { backoffMs } from '../../queue/backoff.ts'
import { type Payload, Postponed } from '../../queue/jobs.ts'
import { blockConnection, freeConnection, type StandingBlock, standingBlock } from '../../store/connections.ts'
import {
  type AttemptEnd,
  type ClaimedDelivery,
  claimDelivery,
  endDelivery,
  hasten,
  pendingChanges,
  type Settled,
  stillHolds,
} from '../../store/deliveries/deliveries.ts'
import { workingOn } from '../../store/workers/leases.ts'
import { blockedBy, isUncertain, leavesUncertain, type Stop } from './answers.ts'
import type { SyncContext } from '../context.ts'
import { markTakenOver } from '../repair/uncertain.ts'
import { enqueueDeliveries } from '../enqueue.ts'
import { finishRun } from './finish.ts'
import type { Lane } from './send.ts'
import { correctAndSend, settleByReading, takeOff, tellOutcomes, type Work } from './send-changes.ts'
import { Overtaken } from '../plan/stage.ts'
import { resolveTarget } from './target.ts'

/** How long a blocked connection is left alone before it is tried again. */
const probeMs = 15 * 60_000
/** How long a batch waits that failed: full jitter below a bound that doubles up to an hour. Nothing is ever given up. */
const retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 2, mostSeconds: 60 * 60 }
/** Only so long the queue keeps a job that waits; a longer pause is left to the sweep, which comes every minute. */
const mostPostponedMs = 60_000

/**
 * The `upsert`, `update` and `delete` jobs: sends what is left of a batch and writes what became of whom. Run twice, or too early,
 * it finds nothing to do or repeats requests that change nothing; two attempts at once are told apart by the attempt's number.
 */
export async function deliver(
  ctx: SyncContext,
  { runId, batch }: Payload<'upsert'>,
  signal: AbortSignal,
): Promise<void> {
  await workingOn(ctx.lease, { kind: 'batch', runId, batch }, () => deliverBatch(ctx, { runId, batch }, signal))
}

async function deliverBatch(ctx: SyncContext, { runId, batch }: Payload<'upsert'>, signal: AbortSignal): Promise<void> {
  const claim = await claimDelivery(ctx.store.db, { runId, batch, lease: ctx.lease, now: ctx.now() })
  if (!claim) return
  const progress: Work['progress'] = { pending: 0, settled: 0, uncertain: false, whole: null }
  const lane = laneOf(ctx, claim, { progress, signal })
  const attempt: Attempt = { ctx, claim, lane, progress }
  let stop: Stop | null
  try {
    stop = await send(attempt)
  } catch (error) {
    if (error instanceof Overtaken) return await markTakenOver(ctx, claim)
    const settled = await endDelivery(ctx.store.db, claim, endOfError(attempt, signal.aborted))
    if (!settled) await markTakenOver(ctx, claim)
    throw error
  }
  await end(attempt, stop)
}

type Attempt = Omit<Work, 'connection' | 'lane'> & { readonly lane: Lane }

/** Before each request it is asked whether the batch is still this attempt's: a process that was stopped for hours sends nothing old. */
function laneOf(
  ctx: SyncContext,
  claim: ClaimedDelivery,
  { progress, signal }: { progress: Work['progress']; signal: AbortSignal },
): Lane {
  const { runId, connection, kind: job, batch } = claim
  const about = { runId, connection, job, batch }
  return {
    platform: ctx.platform,
    connectionId: 0,
    signal,
    requests: 0,
    async mayChange(people) {
      if (!(await stillHolds(ctx.store.db, claim))) throw new Overtaken()
      ctx.events.requestBegun({ ...about, people })
    },
    changed(answer: AnyAnswer) {
      if (isUncertain(answer)) progress.uncertain = true
      ctx.events.requestEnded({ ...about, status: statusOf(answer) })
    },
  }
}

function statusOf(answer: AnyAnswer): string {
  if (answer.status === 'unreachable') return answer.reason
  return String('httpStatus' in answer ? answer.httpStatus : answer.status)
}

async function send(attempt: Attempt): Promise<Stop | null> {
  const { ctx, claim, lane } = attempt
  const { db } = ctx.store
  const connection = ctx.connections.get(claim.connection)
  if (!connection) {
    return blockedBy('connection_unknown', 404, `connection "${claim.connection}" is not in the configuration`)
  }
  if (claim.isBlocked) {
    const now = ctx.now()
    const nextProbeAt = new Date(now.getTime() + probeMs)
    const block = await standingBlock(db, { connection: connection.name, now, nextProbeAt })
    if (block) return leftAlone(block, now)
  }
  const target = await resolveTarget(ctx, connection, { known: claim.target, signal: lane.signal })
  if (typeof target !== 'number') return target

  const ready: Lane = { ...lane, connectionId: target }
  const work: Work = { ...attempt, lane: ready, connection }
  try {
    const pending = await pendingChanges(db, claim)
    attempt.progress.pending = pending.length
    const { left, stop } = claim.uncertain ? await settleByReading(work, pending) : { left: pending, stop: null }
    if (stop || left.length === 0) return stop
    return claim.kind === 'delete' ? await takeOff(work, left) : await correctAndSend(work, left)
  } finally {
    lane.requests = ready.requests
  }
}

function leftAlone({ until, code, reason }: StandingBlock, now: Date): Stop {
  const delayMs = until.getTime() - now.getTime()
  return { kind: 'wait', code, status: 'blocked', delayMs, message: `the connection is blocked: ${reason}` }
}

async function end(attempt: Attempt, stop: Stop | null): Promise<void> {
  const { ctx, claim } = attempt
  const { db } = ctx.store
  const now = ctx.now()
  if (stop?.code === 'rate_limited' && stop.kind === 'wait') await ctx.platform.pace.pause(stop.delayMs)
  if (stop?.kind === 'blocked') {
    const { status, code, message: reason } = stop
    const probeAt = new Date(now.getTime() + probeMs)
    await blockConnection(db, { connection: claim.connection, status, code, reason, now, probeAt })
    ctx.events.connectionBlocked({ connection: claim.connection, status: String(status), reason })
  }

  const pauseMs = patienceMs(attempt, stop)
  const settled = await endDelivery(db, claim, endOf(attempt, { stop, pauseMs, now }))
  if (!settled) return await markTakenOver(ctx, claim)
  if (attempt.progress.whole) tellOutcomes(attempt, attempt.progress.whole.outcomes)
  if (stop === null && settled.isBlocked) await free(ctx, claim)
  tellSent(attempt, settled)
  if (settled.remaining === 0) await finishRun(ctx, claim)
  else if (stop) tellStop(attempt, stop, pauseMs)
}

async function free(ctx: SyncContext, { connection, runId }: ClaimedDelivery): Promise<void> {
  if (!(await freeConnection(ctx.store.db, connection))) return
  ctx.events.connectionFreed({ connection })
  // What waited behind the block need not wait for the time of the next probe.
  if ((await hasten(ctx.store.db, { connection, now: ctx.now() })) > 0) await enqueueDeliveries(ctx, runId)
}

function endOf(
  { claim, lane, progress }: Attempt,
  { stop, pauseMs, now }: { stop: Stop | null; pauseMs: number; now: Date },
): AttemptEnd {
  return {
    whole: progress.whole,
    requests: lane.requests,
    dueAt: new Date(now.getTime() + pauseMs),
    failure: stop && { code: stop.code, message: stop.message },
    as: endedAs(stop),
    progressed: progress.settled > 0,
    uncertain: claim.uncertain || progress.uncertain || (stop !== null && leavesUncertain(stop)),
    now,
  }
}

function endedAs(stop: Stop | null): AttemptEnd['as'] {
  if (stop === null) return 'settled'
  if (stop.code === 'circuit_open') return 'withheld'
  return stop.kind === 'retry' && stop.code !== 'stopped' ? 'failed' : 'paused'
}

/** Whatever it was, the batch is let go, so that the next attempt finds it: at once where this process stops, else after a pause. */
function endOfError({ ctx, claim, lane, progress }: Attempt, isStopping: boolean): AttemptEnd {
  const now = ctx.now()
  const pauseMs = isStopping ? 0 : backoffMs(claim.failures + 1, retry)
  return {
    whole: null,
    requests: lane.requests,
    dueAt: new Date(now.getTime() + pauseMs),
    failure: isStopping
      ? { code: 'stopped', message: deliveryFailures.stopped.when }
      : { code: null, message: 'an unexpected error; the log has it' },
    as: isStopping ? 'paused' : 'failed',
    progressed: progress.settled > 0,
    uncertain: true,
    now,
  }
}

function patienceMs({ claim, progress }: Attempt, stop: Stop | null): number {
  // What was under way when this process was told to stop is handed back at once.
  if (stop?.code === 'stopped') return 0
  switch (stop?.kind) {
    case undefined:
      return 0
    case 'wait':
      return stop.delayMs
    case 'blocked':
      return probeMs
    case 'retry':
      return Math.max(stop.notBeforeMs ?? 0, backoffMs(progress.settled > 0 ? 1 : claim.failures + 1, retry))
    default:
      return stop satisfies never
  }
}

function tellStop({ ctx, claim }: Attempt, stop: Stop, pauseMs: number): void {
  const { runId, connection, kind: job, batch } = claim
  const about = { runId, connection, job, batch }
  if (stop.kind === 'blocked') return
  if (stop.kind === 'wait' || stop.code === 'stopped')
    ctx.events.deliveryPostponed({ ...about, delayMs: pauseMs, reason: stop.message })
  else ctx.events.deliveryFailed({ ...about, status: String(stop.status), reason: stop.message })
  if (pauseMs <= mostPostponedMs) throw new Postponed(pauseMs)
}

function tellSent({ ctx, claim, progress }: Attempt, { people, confirmed, refused }: Settled): void {
  if (progress.settled === 0) return
  const { runId, connection, kind: job, batch } = claim
  ctx.events.deliverySent({ runId, connection, job, batch, people, confirmed, problems: refused })
}
