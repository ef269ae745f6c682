/*
 * The states of an attempt at a batch: what moves it there, and what a crash (kill -9) in that state leaves.
 *
 * claimed     claimDelivery writes the lease and increments the number of the attempt.
 *             Left: a row whose lease is dead with the process. The sweep enqueues it; the next claim marks the batch uncertain.
 * addressed   resolveTarget finds the connection on the platform, or creates it.
 *             Left: a dead lease on the target, and perhaps a new connection. The next attempt takes over the lease and finds the connection by name.
 * looked up   resolveUncertain, only if the batch is uncertain: people that the platform has as desired are recorded.
 *             Left: the others, still due. The next attempt looks them up again.
 * clearing    storeStep, before the request that clears the leaving dates of corrections.
 *             Left: dates that may or may not still be stored. The next attempt clears them again.
 * cleared     recordOutcomes, with the answer to that request.
 *             Left: people without a leaving date, who look employed on the platform. The next attempt sends their date only.
 * sending     upsert, update or delete make the request.
 *             Left: a request with an unknown outcome. The next attempt looks its people up, or sends them again if they are too many.
 * recorded    recordOutcomes, after each operation. If the platform took all remaining people as desired, endAttempt records them instead.
 *             Left: the rest of the batch, still due. The next attempt delivers it.
 * ended       endAttempt makes the batch done, or due again at a later time, and drops the lease.
 *             Left: perhaps a run with nothing due. The sweep closes it (runsToClose). A database that loses its last moments has the
 *             batch in the state before.
 * run closed  finishRun, if this was the last batch of its run.
 *             Left: runs that wait for this one and are not enqueued. The sweep enqueues them (dueRuns).
 *
 * The sweep runs in every process at its start, every minute, and every few seconds while no job waits. An attempt may also be overtaken
 * without a crash:
 *
 * - A suspended process does not renew its lease. After a minute another process takes the batch over and records that in `takeovers`. When
 *   the first one resumes, `stillHolds` stops its next request, but not one that it had begun. So the people of the batch become
 *   uncertain, and a repair run looks them up (markOvertaken). If the first one ends instead, the sweep does the same
 *   (markEndedTakeovers).
 * - A process that cannot reach the store when it wants to end the attempt leaves the row under its live lease. Its own sweep releases
 *   the batch, uncertain (releaseStranded).
 */
import type { Payload } from '../../queue/jobs.ts'
import { activeBlock, type ConnectionBlock } from '../../store/connections/connections.ts'
import { claimDelivery } from '../../store/deliveries/claim.ts'
import { type PendingChange, pendingChanges } from '../../store/deliveries/pending.ts'
import { isAtWork, workingOn } from '../../store/workers/leases.ts'
import { setInheritedAttributes } from '../../telemetry/traces.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { Overtaken } from '../context/overtaken.ts'
import type { Stop } from '../rate-limit/classify-answers.ts'
import { resolveTarget } from '../target/target.ts'
import { type Attempt, newAttempt } from './attempt.ts'
import { upsertOrCorrect } from './correct.ts'
import { finishAttempt, probeMs, releaseAfterError } from './finish-attempt.ts'
import { deletePeople } from './one-by-one.ts'
import { deliverSession } from './session.ts'
import { markOvertaken } from './takeovers.ts'
import { resolveUncertain } from './uncertain.ts'
import { closeUndelivered, readClosingRule } from './undelivered.ts'

/** How long a batch of an unknown connection waits for a process that knows it; multiplied by the attempts so far. */
const unknownPauseMs = 10_000

/**
 * The `upsert`, `update`, `delete` and `session` jobs: one attempt at what is left of a batch. Idempotent; the attempt number tells concurrent
 * attempts apart.
 */
export async function deliver(
  ctx: SyncContext,
  { runId, batch }: Payload<'upsert'>,
  signal: AbortSignal,
): Promise<void> {
  await ctx.yieldToShortWork?.()
  const work = { kind: 'batch', runId, batch } as const
  // While the lock of its lease is being reopened, this process would mistake its own batch for that of a dead process.
  if (isAtWork(ctx.lease, work)) return
  await workingOn(ctx.lease, work, () => attemptBatch(ctx, { runId, batch }, signal))
}

/** Claims the batch, delivers what is due of it and finishes the attempt. */
async function attemptBatch(ctx: SyncContext, { runId, batch }: Payload<'upsert'>, signal: AbortSignal): Promise<void> {
  const claim = await claimDelivery(ctx.store.db, { runId, batch, lease: ctx.lease, now: ctx.now() })
  if (!claim) return
  setInheritedAttributes({ 'rollcall.connection': claim.connection, 'rollcall.attempt': claim.attempt })
  const attempt = newAttempt(ctx, claim, signal)
  let stop: Stop | null
  try {
    stop = await closeUndelivered(attempt, await deliverDue(attempt))
  } catch (error) {
    if (error instanceof Overtaken) return await markOvertaken(ctx, claim)
    await releaseAfterError(attempt, signal.aborted)
    throw error
  }
  await finishAttempt(attempt, stop)
}

/** Delivers what is due of the batch and records its outcomes. Returns why it stopped early, or null. */
async function deliverDue(attempt: Attempt): Promise<Stop | null> {
  const { ctx, claim, signal } = attempt
  const connection = ctx.connections.get(claim.connection)
  if (!connection) return unknownConnection(attempt)
  const blocked = claim.isBlocked ? await findBlock(attempt, connection) : null
  if (blocked) return blocked
  const target = await resolveTarget(ctx, connection, { known: claim.target, signal })
  if ('kind' in target) return target
  attempt.connectionId = target.connectionId
  attempt.records = target.records
  return await deliverPending(attempt, await loadPending(attempt))
}

function unknownConnection({ claim }: Attempt): Stop {
  const message = `connection "${claim.connection}" is not in the configuration of this process`
  const delayMs = Math.min(claim.attempt * unknownPauseMs, probeMs)
  return { kind: 'wait', code: 'connection_unknown', status: 'unknown', delayMs, message }
}

/** The block of the connection, unless it is time to probe it. Then the next probe is scheduled, so that one attempt probes at a time. */
async function findBlock({ ctx }: Attempt, { name }: SyncConnection): Promise<Stop | null> {
  const now = ctx.now()
  const nextProbeAt = new Date(now.getTime() + probeMs)
  const block = await activeBlock(ctx.store.db, { connection: name, now, nextProbeAt })
  return block && blockedStop(block, now)
}

function blockedStop({ until, code, reason }: ConnectionBlock, now: Date): Stop {
  const delayMs = until.getTime() - now.getTime()
  return { kind: 'wait', code, status: 'blocked', delayMs, message: `the connection is blocked: ${reason}` }
}

/** Loads the due changes, and what the attempt needs to know of their people before it sends anything. */
async function loadPending(attempt: Attempt): Promise<readonly PendingChange[]> {
  const { ctx, claim } = attempt
  const read = claim.pending ?? (await pendingChanges(ctx.store.db, claim))
  const pending = rotate(read.changes, claim.failures)
  const leavers = pending.filter(({ separatedAt }) => separatedAt !== null)
  attempt.read = read
  attempt.pending = pending.length
  attempt.leavers = new Set(leavers.map(({ identityId }) => identityId))
  attempt.closingRule = await readClosingRule(
    attempt,
    pending.map(({ identityId }) => identityId),
  )
  return pending
}

/**
 * Starts each attempt after a failure with other people, at positions that the golden ratio spreads evenly. Otherwise a few failing people in
 * a row, which open the circuit, would keep the others waiting for ever.
 */
function rotate(changes: readonly PendingChange[], failures: number): readonly PendingChange[] {
  const first = Math.floor(((failures * 0.618_034) % 1) * changes.length)
  return first === 0 ? changes : [...changes.slice(first), ...changes.slice(0, first)]
}

async function deliverPending(attempt: Attempt, pending: readonly PendingChange[]): Promise<Stop | null> {
  const { kind, uncertain } = attempt.claim
  if (kind === 'session') return await deliverSession(attempt, pending)
  if (kind === 'delete') return await deletePeople(attempt, pending)
  const { remaining, stop } = uncertain ? await resolveUncertain(attempt, pending) : { remaining: pending, stop: null }
  if (stop || remaining.length === 0) return stop
  return await upsertOrCorrect(attempt, remaining)
}
