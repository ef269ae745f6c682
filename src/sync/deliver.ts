import { Failure } from '../errors.ts'
import type { Payload } from '../queue/jobs.ts'
import { Postponed } from '../queue/postponed.ts'
import { blockConnection, blockedUntil, freeConnection } from '../store/connections.ts'
import { type ClaimedDelivery, claimDelivery, endDelivery, pendingChanges } from '../store/deliveries.ts'
import { getRun } from '../store/runs.ts'
import type { Stop } from './answers.ts'
import type { SyncContext } from './context.ts'
import type { Lane } from './send.ts'
import { correctAndSend, takeOff } from './send-changes.ts'
import { Overtaken } from './stage.ts'
import { enqueueWaiting } from './sweep.ts'
import { resolveTarget } from './target.ts'

/** How long a blocked connection is left alone before it is tried again. */
const probeMs = 15 * 60_000
/** How long the store waits before it takes a batch up that the queue has given up: doubling from the first to the second. */
const slowestRetryMs = 60 * 60_000
const firstRetryMs = 30_000

/**
 * The `upsert`, `update` and `delete` jobs: sends what is left of a batch and writes what became of whom. Run twice, it finds
 * nothing left or repeats requests that change nothing; two attempts at once are told apart by the attempt's number.
 */
export async function deliver(
  ctx: SyncContext,
  { runId, batch }: Payload<'upsert'>,
  signal: AbortSignal,
): Promise<void> {
  const { db } = ctx.store
  const claim = await claimDelivery(db, { runId, batch, owner: ctx.owner })
  if (!claim) return
  const lane: Lane = { platform: ctx.platform, connectionId: 0, signal, requests: 0 }
  try {
    const stop = await attempt(ctx, claim, lane)
    await end(ctx, claim, lane, stop)
  } catch (error) {
    if (error instanceof Overtaken) return
    // Whatever it was, the batch is let go, so that the next attempt finds it.
    const now = ctx.now()
    const failure = signal.aborted ? 'handed back' : describe(error)
    await endDelivery(db, claim, { requests: lane.requests, dueAt: now, failure, now })
    throw error
  }
}

async function attempt(ctx: SyncContext, claim: ClaimedDelivery, lane: Lane): Promise<Stop | null> {
  const { db } = ctx.store
  const connection = ctx.connections.get(claim.connection)
  if (!connection) {
    return { kind: 'blocked', status: 404, message: `connection "${claim.connection}" is not in the configuration` }
  }
  const until = await blockedUntil(db, { connection: connection.name, now: ctx.now() })
  if (until) {
    const delayMs = until.getTime() - ctx.now().getTime()
    return { kind: 'wait', status: 0, delayMs, message: 'the connection is blocked' }
  }
  const target = await resolveTarget(ctx, connection, lane.signal)
  if (typeof target !== 'number') return target
  const ready = { ...lane, connectionId: target }
  try {
    const pending = await pendingChanges(db, claim)
    return claim.kind === 'delete'
      ? await takeOff({ ctx, claim, lane: ready }, pending)
      : await correctAndSend({ ctx, claim, lane: ready, connection }, pending)
  } finally {
    lane.requests = ready.requests
  }
}

async function end(ctx: SyncContext, claim: ClaimedDelivery, lane: Lane, stop: Stop | null): Promise<void> {
  const { db } = ctx.store
  const now = ctx.now()
  const about = { runId: claim.runId, connection: claim.connection, job: claim.kind, batch: claim.batch }
  if (stop === null && (await freeConnection(db, claim.connection)))
    ctx.events.connectionFreed({ connection: claim.connection })
  if (stop?.kind === 'wait' && stop.status === 429) ctx.platform.pace.pause(stop.delayMs)
  if (stop?.kind === 'blocked') {
    const { status, message: reason } = stop
    const probeAt = new Date(now.getTime() + probeMs)
    await blockConnection(db, { connection: claim.connection, status, reason, now, probeAt })
    ctx.events.connectionBlocked({ connection: claim.connection, status: String(status), reason })
  }

  const dueAt = new Date(now.getTime() + patienceMs(claim, stop))
  const settled = await endDelivery(db, claim, { requests: lane.requests, dueAt, failure: stop?.message ?? null, now })
  if (!settled) return
  if (stop === null) await tellSent(ctx, claim)
  if (settled.runState !== 'delivering') await tellFinished(ctx, claim)

  switch (stop?.kind) {
    case undefined:
    case 'blocked':
      return
    case 'wait':
      ctx.events.deliveryPostponed({ ...about, delayMs: stop.delayMs, reason: stop.message })
      throw new Postponed(stop.delayMs)
    case 'retry':
      ctx.events.deliveryFailed({ ...about, status: String(stop.status), reason: stop.message })
      throw new Failure('platform_unreachable', stop.message)
    default:
      return stop satisfies never
  }
}

function patienceMs(claim: ClaimedDelivery, stop: Stop | null): number {
  switch (stop?.kind) {
    case undefined:
      return 0
    case 'wait':
      return stop.delayMs
    case 'blocked':
      return probeMs
    case 'retry':
      return Math.min(slowestRetryMs, firstRetryMs * 2 ** Math.min(claim.attempt - 1, 20))
    default:
      return stop satisfies never
  }
}

async function tellSent(ctx: SyncContext, claim: ClaimedDelivery): Promise<void> {
  const { rows } = await ctx.store.pool.query<{ state: string; people: number }>(
    'select state, count(*)::int as people from changes where run_id = $1 and batch = $2 group by state',
    [claim.runId, claim.batch],
  )
  const people = (state: string) => rows.find((row) => row.state === state)?.people ?? 0
  ctx.events.deliverySent({
    runId: claim.runId,
    connection: claim.connection,
    job: claim.kind,
    batch: claim.batch,
    people: rows.reduce((sum, row) => sum + row.people, 0),
    confirmed: people('confirmed'),
    problems: people('problem'),
  })
}

async function tellFinished(ctx: SyncContext, claim: ClaimedDelivery): Promise<void> {
  const run = await getRun(ctx.store.db, claim.runId)
  if (!run) return
  const { id: runId, connection, confirmed, problems, durationMs } = run
  ctx.events.runFinished({ runId, connection, confirmed, problems, durationMs: durationMs ?? 0 })
  await enqueueWaiting(ctx, claim.connection)
}

function describe(error: unknown): string {
  return error instanceof Failure ? error.message : 'unexpected error'
}
