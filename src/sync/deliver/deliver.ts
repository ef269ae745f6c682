/*
 * The states of an attempt at a batch: what moves it there, and what a crash (kill -9) in that state leaves behind.
 *
 * claimed     claimDelivery writes the lease and counts up the attempt's number.
 *             Left: a row whose lease is dead with the process. The sweep enqueues it; the next claim marks the batch uncertain.
 * addressed   resolveTarget finds the connection on the platform, or creates it.
 *             Left: a dead lease on the target, and perhaps a new connection. The next attempt takes the one and finds the other by name.
 * looked up   settleUncertain, only if the batch is uncertain: people that the platform has as desired are recorded.
 *             Left: the others, still due. The next attempt looks them up again.
 * clearing    storeStep, before the request that clears the leaving dates of corrections.
 *             Left: dates of which it is not known whether they are still stored. The next attempt clears them again.
 * cleared     recordOutcomes, with the answer to that request.
 *             Left: people without a leaving date, who look employed on the platform. The next attempt sends their date only.
 * sending     upsert, update or delete make the request.
 *             Left: a request with an unknown outcome. The next attempt looks its people up, or sends them again if they are too many.
 * recorded    recordOutcomes, after each operation. If all who were left were taken as desired, endAttempt records them instead.
 *             Left: the rest of the batch, still due. The next attempt delivers it.
 * ended       endAttempt makes the batch done, or due again at a later time, and drops the lease.
 *             Left: perhaps a run with nothing due. The sweep closes it (runsToClose). A database that loses its last moments has the
 *             batch in the state before.
 * run closed  finishRun, if this was the last batch of its run.
 *             Left: runs that wait for this one and are not enqueued. The sweep enqueues them (dueRuns).
 *
 * The sweep comes in every process at its start, every minute, and every few seconds while no job waits. An attempt may also be overtaken
 * without a crash:
 *
 * - A process that the system has stopped does not renew its lease. After a minute another process takes the batch over and notes that in
 *   `takeovers`. When the first one moves again, `stillHolds` keeps back its next request, but not one that it had begun. So the people
 *   of the batch become uncertain, and a run of its own reads them back (markOvertaken). If the first one ends instead, the sweep does
 *   the same (markEndedTakeovers).
 * - A process that cannot reach the store when it wants to end the attempt leaves the row under its live lease. Its own sweep releases
 *   the batch, uncertain (releaseStranded).
 */
import { deliveryFailures } from '../../contract/failures.ts'
import { backoffMs } from '../../queue/backoff.ts'
import { type Payload, Postponed } from '../../queue/jobs.ts'
import { recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import {
  blockConnection,
  unblockConnection,
  type ConnectionBlock,
  activeBlock,
} from '../../store/connections/connections.ts'
import { type ClaimedDelivery, claimDelivery } from '../../store/deliveries/claim.ts'
import { makeDueNow } from '../../store/deliveries/due.ts'
import { type AttemptEnd, closeRun, type EndedAttempt, endAttempt, isDue } from '../../store/deliveries/end.ts'
import { deleteAnsweredOf } from '../../store/deliveries/outcomes.ts'
import { type PendingChange, pendingChanges } from '../../store/deliveries/pending.ts'
import { getRun } from '../../store/runs/runs.ts'
import { isAtWork, workingOn } from '../../store/workers/leases.ts'
import { setInheritedAttributes } from '../../telemetry/traces.ts'
import type { SyncContext } from '../context/context.ts'
import { enqueueDeliveries, enqueueWaiting } from '../context/enqueue.ts'
import { Overtaken } from '../context/overtaken.ts'
import { leavesUncertain, type Stop } from '../rate-limit/classify-answers.ts'
import { type Attempt, batchRef, newAttempt, reportOutcomes } from './attempt.ts'
import { upsertOrCorrect } from './correct.ts'
import { resolveUncertain } from './uncertain.ts'
import { deletePeople } from './one-by-one.ts'
import { deliverSession } from './session.ts'
import { forgetStoredDates } from './stored-dates.ts'
import { markOvertaken } from './takeovers.ts'
import { resolveTarget } from '../target/target.ts'
import { closablePeople, closeUndelivered } from './undelivered.ts'

/** How long a blocked connection is left alone before it is tried again. */
const probeMs = 15 * 60_000
/** How soon another process is tried that may know the connection; so much later each time, since there may be none. */
const unknownPauseMs = 10_000
/** How long a batch that failed waits: full jitter below a bound that doubles up to an hour. No batch is ever given up. */
const retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 2, mostSeconds: 60 * 60 }
/** The queue keeps a job that waits up to this long. A longer pause is left to the sweep, which comes every minute. */
const mostPostponedMs = 60_000

/**
 * The `upsert`, `update`, `delete` and `session` jobs: one attempt at what is left of a batch. Run twice, or too early, it finds nothing to do or
 * repeats requests that change nothing; two attempts at once are told apart by the attempt's number.
 */
export async function deliver(
  ctx: SyncContext,
  { runId, batch }: Payload<'upsert'>,
  signal: AbortSignal,
): Promise<void> {
  await ctx.yieldToShortWork?.()
  const work = { kind: 'batch', runId, batch } as const
  // While the lock of its lease is taken again, this process would take its own batch for that of a dead one.
  if (isAtWork(ctx.lease, work)) return
  await workingOn(ctx.lease, work, () => deliverBatch(ctx, { runId, batch }, signal))
}

async function deliverBatch(ctx: SyncContext, { runId, batch }: Payload<'upsert'>, signal: AbortSignal): Promise<void> {
  const claim = await claimDelivery(ctx.store.db, { runId, batch, lease: ctx.lease, now: ctx.now() })
  if (!claim) return
  setInheritedAttributes({ 'rollcall.connection': claim.connection, 'rollcall.attempt': claim.attempt })
  const attempt = newAttempt(ctx, claim, signal)
  let stop: Stop | null
  try {
    stop = await closeUndelivered(attempt, await carryOut(attempt))
  } catch (error) {
    if (error instanceof Overtaken) return await markOvertaken(ctx, claim)
    const ended = await endAttempt(ctx.store.db, claim, endOfError(attempt, signal.aborted))
    if (!ended) await markOvertaken(ctx, claim)
    throw error
  }
  await end(attempt, stop)
}

/** Takes an attempt from its claim to its last recorded outcome. Answers what stopped it before the batch was done. */
async function carryOut(attempt: Attempt): Promise<Stop | null> {
  const { ctx, claim, signal } = attempt
  const { db } = ctx.store
  const connection = ctx.connections.get(claim.connection)
  if (!connection) {
    const message = `connection "${claim.connection}" is not in the configuration of this process`
    const delayMs = Math.min(claim.attempt * unknownPauseMs, probeMs)
    return { kind: 'wait', code: 'connection_unknown', status: 'unknown', delayMs, message }
  }
  if (claim.isBlocked) {
    const now = ctx.now()
    const nextProbeAt = new Date(now.getTime() + probeMs)
    const standing = await activeBlock(db, { connection: connection.name, now, nextProbeAt })
    if (standing) return leftAlone(standing, now)
  }
  const target = await resolveTarget(ctx, connection, { known: claim.target, signal })
  if ('kind' in target) return target
  attempt.connectionId = target.connectionId
  attempt.records = target.records

  const read = claim.pending ?? (await pendingChanges(db, claim))
  const pending = inOrder(read.changes, claim.failures)
  attempt.read = read
  attempt.pending = pending.length
  attempt.leavers = new Set(
    pending.flatMap(({ identityId, separatedAt }) => (separatedAt === null ? [] : [identityId])),
  )
  attempt.closable = await closablePeople(
    attempt,
    pending.map(({ identityId }) => identityId),
  )
  if (claim.kind === 'session') return await deliverSession(attempt, pending)
  if (claim.kind === 'delete') return await deletePeople(attempt, pending)
  const { left, stop } = claim.uncertain ? await resolveUncertain(attempt, pending) : { left: pending, stop: null }
  if (stop || left.length === 0) return stop
  return await upsertOrCorrect(attempt, left)
}

/**
 * Each attempt that follows a failed one begins with other people, at places that the golden ratio spreads evenly: as many people in a row
 * as open the circuit must not keep the others back for ever.
 */
function inOrder(changes: readonly PendingChange[], failures: number): readonly PendingChange[] {
  const first = Math.floor(((failures * 0.618_034) % 1) * changes.length)
  return first === 0 ? changes : [...changes.slice(first), ...changes.slice(0, first)]
}

function leftAlone({ until, code, reason }: ConnectionBlock, now: Date): Stop {
  const delayMs = until.getTime() - now.getTime()
  return { kind: 'wait', code, status: 'blocked', delayMs, message: `the connection is blocked: ${reason}` }
}

async function end(attempt: Attempt, stop: Stop | null): Promise<void> {
  const { ctx, claim, batchOutcome } = attempt
  const { db } = ctx.store
  const now = ctx.now()
  if (stop?.code === 'rate_limited' && stop.kind === 'wait') await ctx.platform.rateLimiter.pause(stop.delayMs)
  const pauseMs = pauseAfter(attempt, stop)
  const ended = await endAttempt(db, claim, endOf(attempt, { stop, pauseMs, now }))
  if (!ended) return await markOvertaken(ctx, claim)
  if (batchOutcome) reportOutcomes(attempt, batchOutcome.people)
  if (stop?.kind === 'blocked') await block(ctx, claim, stop)
  else if (ended.isBlocked && (stop === null || attempt.recordedCount > 0)) await free(ctx, claim)
  reportDelivered(attempt, ended)
  if (ended.remaining > 0) {
    if (stop) postpone(attempt, stop, pauseMs)
  } else if (!ended.hasMore) await finishRun(ctx, claim)
}

/** Only an attempt that still has its batch may block: what one that was overtaken learned is old. */
async function block(
  ctx: SyncContext,
  { connection }: ClaimedDelivery,
  stop: Stop & { kind: 'blocked' },
): Promise<void> {
  const { status, code, message: reason } = stop
  const now = ctx.now()
  const probeAt = new Date(now.getTime() + probeMs)
  await blockConnection(ctx.store.db, { connection, status, code, reason, now, probeAt })
  ctx.events.connectionBlocked({ connection, status: String(status), reason })
}

async function free(ctx: SyncContext, { connection, runId }: ClaimedDelivery): Promise<void> {
  if (!(await unblockConnection(ctx.store.db, connection))) return
  ctx.events.connectionRecovered({ connection })
  // What waited behind the block need not wait for the time of the next probe.
  if ((await makeDueNow(ctx.store.db, { connection, now: ctx.now() })) > 0) await enqueueDeliveries(ctx, runId)
}

function endOf(
  { claim, requests, recordedCount: settled, closedIds: settledIds, undelivered, uncertain, batchOutcome }: Attempt,
  { stop, pauseMs, now }: { stop: Stop | null; pauseMs: number; now: Date },
): AttemptEnd {
  return {
    batchOutcome,
    requests,
    dueAt: new Date(now.getTime() + pauseMs),
    failure: stop && { code: stop.code, message: stop.message },
    as: endedAs(stop),
    progressed: settled > undelivered,
    uncertain: claim.uncertain || uncertain || (stop !== null && leavesUncertain(stop)),
    completed: settledIds,
    now,
  }
}

/** Pauses that may last although nobody has failed: if they do, that is listed. */
const withheldCodes: ReadonlySet<string> = new Set(['circuit_open', 'rate_limited', 'connection_unknown'])

function endedAs(stop: Stop | null): AttemptEnd['as'] {
  if (stop === null) return 'completed'
  if (withheldCodes.has(stop.code)) return 'withheld'
  return stop.kind === 'retry' && stop.code !== 'stopped' ? 'failed' : 'paused'
}

/** Whatever the error was, the batch is released for the next attempt: due at once if this process stops, else after a pause. */
function endOfError(
  { ctx, claim, requests, recordedCount: settled, closedIds: settledIds }: Attempt,
  isStopping: boolean,
): AttemptEnd {
  const now = ctx.now()
  const pauseMs = isStopping ? 0 : backoffMs(claim.failures + 1, retry)
  return {
    batchOutcome: null,
    requests,
    dueAt: new Date(now.getTime() + pauseMs),
    failure: isStopping
      ? { code: 'stopped', message: deliveryFailures.stopped.when }
      : { code: null, message: 'an unexpected error; the log has it' },
    as: isStopping ? 'paused' : 'failed',
    progressed: settled > 0,
    uncertain: true,
    completed: settledIds,
    now,
  }
}

function pauseAfter({ claim, recordedCount: settled }: Attempt, stop: Stop | null): number {
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
      return Math.max(stop.notBeforeMs ?? 0, backoffMs(settled > 0 ? 1 : claim.failures + 1, retry))
    default:
      return stop satisfies never
  }
}

/** Logs why the batch is still due, and postpones the job if the queue may keep it until then. */
function postpone(attempt: Attempt, stop: Stop, pauseMs: number): void {
  const { events } = attempt.ctx
  const about = batchRef(attempt)
  if (stop.kind === 'blocked') return
  if (stop.kind === 'wait' || stop.code === 'stopped')
    events.deliveryPostponed({ ...about, delayMs: pauseMs, reason: stop.message })
  else events.deliveryFailed({ ...about, status: String(stop.status), reason: stop.message })
  if (pauseMs <= mostPostponedMs) throw new Postponed(pauseMs)
}

function reportDelivered(attempt: Attempt, { people, confirmed, refused }: EndedAttempt): void {
  if (attempt.recordedCount === 0) return
  attempt.ctx.events.deliverySent({ ...batchRef(attempt), people, confirmed, problems: refused })
}

/** Closes a run if nothing of it is due any more, and lets the next one of its connection begin. */
export async function finishRun(
  ctx: SyncContext,
  { runId, connection }: { readonly runId: string; readonly connection: string },
): Promise<void> {
  const { db } = ctx.store
  // Of the last batches of a run, which may end at the same time, each but one ends here, without a transaction.
  if (await isDue(db, runId)) return
  const run = await db.transaction().execute(async (tx) => {
    if (!(await closeRun(tx, runId, ctx.now()))) return null
    const closed = await getRun(tx, runId)
    const details = { confirmed: closed?.confirmed ?? 0, problems: closed?.problems ?? 0 }
    await recordAuditEntry(tx, { act: 'run.finished', connection, by: rollcall, runId, details, now: ctx.now() })
    return closed
  })
  forgetStoredDates(ctx.lease, { connection, runId })
  if (run) {
    const { confirmed, problems, durationMs } = run
    ctx.events.runFinished({ runId, connection, confirmed, problems, durationMs: durationMs ?? 0 })
    ctx.traces.recordRun(run)
  }
  await enqueueWaiting(ctx, connection)
  await ctx.yieldToShortWork?.()
  await deleteAnsweredOf(db, { runId, connection })
}
