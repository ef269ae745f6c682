import { deliveryFailures } from '../../contract/failures.ts'
import { backoffMs } from '../../queue/backoff.ts'
import { Postponed } from '../../queue/jobs.ts'
import { blockConnection, unblockConnection } from '../../store/connections/connections.ts'
import type { ClaimedDelivery } from '../../store/deliveries/claim.ts'
import { makeDueNow } from '../../store/deliveries/due.ts'
import { type AttemptEnd, type EndedAttempt, endAttempt } from '../../store/deliveries/end.ts'
import type { SyncContext } from '../context/context.ts'
import { enqueueDeliveries } from '../context/enqueue.ts'
import { leavesUncertain, type Stop } from '../rate-limit/classify-answers.ts'
import { type Attempt, batchRef, reportOutcomes } from './attempt.ts'
import { finishRun } from './finish-run.ts'
import { markOvertaken } from './takeovers.ts'

/** How long a blocked connection is left alone before it is tried again. */
export const probeMs = 15 * 60_000
/** How long a batch that failed waits: full jitter below a bound that doubles up to an hour. No batch is ever given up. */
const retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 2, maxSeconds: 60 * 60 }
/** The queue keeps a postponed job up to this long. A longer pause is left to the sweep, which comes every minute. */
const maxPostponedMs = 60_000
/** Pauses without a failure. If they last, the batch is listed. */
const withheldCodes: ReadonlySet<string> = new Set(['circuit_open', 'rate_limited', 'connection_unknown'])

/** Ends an attempt: closes the batch or makes it due again, blocks or unblocks the connection, and finishes the run after its last batch. */
export async function finishAttempt(attempt: Attempt, stop: Stop | null): Promise<void> {
  const { ctx, claim, batchOutcome } = attempt
  const now = ctx.now()
  if (stop?.code === 'rate_limited' && stop.kind === 'wait') await ctx.platform.rateLimiter.pause(stop.delayMs)
  const pauseMs = pauseAfter(attempt, stop)
  const batch = await endAttempt(ctx.store.db, claim, attemptResult(attempt, { stop, pauseMs, now }))
  if (!batch) return await markOvertaken(ctx, claim)
  if (batchOutcome) reportOutcomes(attempt, batchOutcome.people)
  // Only an attempt that still has its batch may block: what an overtaken one learned is old.
  if (stop?.kind === 'blocked') await block(ctx, claim, stop)
  else if (batch.isBlocked && (stop === null || attempt.recordedCount > 0)) await unblock(ctx, claim)
  reportDelivered(attempt, batch)
  if (batch.remaining > 0 && stop) postpone(attempt, stop, pauseMs)
  else if (batch.remaining === 0 && !batch.hasMore) await finishRun(ctx, claim)
}

/** Releases the batch of an attempt that threw: due at once if this process stops, else after a pause. */
export async function releaseAfterError(attempt: Attempt, isStopping: boolean): Promise<void> {
  const { ctx, claim, requests, recordedCount, closedIds } = attempt
  const now = ctx.now()
  const pauseMs = isStopping ? 0 : backoffMs(claim.failures + 1, retry)
  const batch = await endAttempt(ctx.store.db, claim, {
    batchOutcome: null,
    requests,
    dueAt: new Date(now.getTime() + pauseMs),
    failure: isStopping
      ? { code: 'stopped', message: deliveryFailures.stopped.when }
      : { code: null, message: 'an unexpected error; the log has it' },
    as: isStopping ? 'paused' : 'failed',
    progressed: recordedCount > 0,
    uncertain: true,
    completed: closedIds,
    now,
  })
  if (!batch) await markOvertaken(ctx, claim)
}

type ResultInput = { readonly stop: Stop | null; readonly pauseMs: number; readonly now: Date }

function attemptResult(attempt: Attempt, { stop, pauseMs, now }: ResultInput): AttemptEnd {
  const { claim, requests, recordedCount, closedIds, undelivered, uncertain, batchOutcome } = attempt
  return {
    batchOutcome,
    requests,
    dueAt: new Date(now.getTime() + pauseMs),
    failure: stop && { code: stop.code, message: stop.message },
    as: resultKind(stop),
    progressed: recordedCount > undelivered,
    uncertain: claim.uncertain || uncertain || (stop !== null && leavesUncertain(stop)),
    completed: closedIds,
    now,
  }
}

function resultKind(stop: Stop | null): AttemptEnd['as'] {
  if (stop === null) return 'completed'
  if (withheldCodes.has(stop.code)) return 'withheld'
  return stop.kind === 'retry' && stop.code !== 'stopped' ? 'failed' : 'paused'
}

function pauseAfter({ claim, recordedCount }: Attempt, stop: Stop | null): number {
  // A stopping process releases its batch at once.
  if (stop?.code === 'stopped') return 0
  switch (stop?.kind) {
    case undefined:
      return 0
    case 'wait':
      return stop.delayMs
    case 'blocked':
      return probeMs
    case 'retry':
      return Math.max(stop.notBeforeMs ?? 0, backoffMs(recordedCount > 0 ? 1 : claim.failures + 1, retry))
    default:
      return stop satisfies never
  }
}

async function block(
  { store: { db }, now, events }: SyncContext,
  { connection }: ClaimedDelivery,
  { status, code, message: reason }: Stop & { readonly kind: 'blocked' },
): Promise<void> {
  const at = now()
  const probeAt = new Date(at.getTime() + probeMs)
  await blockConnection(db, { connection, status, code, reason, now: at, probeAt })
  events.connectionBlocked({ connection, status: String(status), reason })
}

/** Unblocks the connection. What waited behind the block does not wait for the next probe. */
async function unblock(ctx: SyncContext, { connection, runId }: ClaimedDelivery): Promise<void> {
  const { db } = ctx.store
  if (!(await unblockConnection(db, connection))) return
  ctx.events.connectionRecovered({ connection })
  if ((await makeDueNow(db, { connection, now: ctx.now() })) > 0) await enqueueDeliveries(ctx, runId)
}

function reportDelivered(attempt: Attempt, { people, confirmed, refused }: EndedAttempt): void {
  if (attempt.recordedCount === 0) return
  attempt.ctx.events.deliverySent({ ...batchRef(attempt), people, confirmed, problems: refused })
}

/** Logs why the batch is still due. Throws `Postponed` if the queue may keep its job until then. */
function postpone(attempt: Attempt, stop: Stop, pauseMs: number): void {
  const { events } = attempt.ctx
  const about = batchRef(attempt)
  if (stop.kind === 'blocked') return
  if (stop.kind === 'wait' || stop.code === 'stopped')
    events.deliveryPostponed({ ...about, delayMs: pauseMs, reason: stop.message })
  else events.deliveryFailed({ ...about, status: String(stop.status), reason: stop.message })
  if (pauseMs <= maxPostponedMs) throw new Postponed(pauseMs)
}
