import { Failure } from '../errors.ts'
import type { Change } from '../identity/change.ts'
import type { IdentityRecord } from '../identity/record.ts'
import type { Payload } from '../queue/jobs.ts'
import { Postponed } from '../queue/postponed.ts'
import { blockConnection, blockedUntil, freeConnection, setLacksUpdate, targetOf } from '../store/connections.ts'
import {
  type ClaimedDelivery,
  claimDelivery,
  endDelivery,
  type Outcome,
  type PendingChange,
  pendingChanges,
  recordOutcomes,
  storeStep,
} from '../store/deliveries.ts'
import { getRun } from '../store/runs.ts'
import type { Stop } from './answers.ts'
import type { SyncConnection, SyncContext } from './context.ts'
import { exists, type Lane, type Results, remove, type Sent, update, upsert } from './send.ts'
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
      ? await retract({ ctx, claim, lane: ready }, pending)
      : await correctAndSend({ ctx, claim, lane: ready, connection }, pending)
  } finally {
    lane.requests = ready.requests
  }
}

type Work = { readonly ctx: SyncContext; readonly claim: ClaimedDelivery; readonly lane: Lane }
type SendWork = Work & { readonly connection: SyncConnection }

async function retract(work: Work, pending: readonly PendingChange[]): Promise<Stop | null> {
  const sentAt = work.ctx.now()
  const { sent, stop } = await remove(
    work.lane,
    pending.map(({ change }) => change.identityId),
  )
  const outcomes = [...sent].map(
    ([identityId, result]): Outcome =>
      result.kind === 'taken'
        ? { identityId, state: 'confirmed', confirmed: null, answer: { status: result.status } }
        : refusedOutcome(identityId, result),
  )
  await record(work, outcomes, sentAt)
  return stop
}

/**
 * Corrections first lose their stored leaving date, because the platform ignores another one while it has one; then everybody
 * is sent. Whoever turns out to hold another date than the one sent goes through the same correction once.
 */
async function correctAndSend(work: SendWork, pending: readonly PendingChange[]): Promise<Stop | null> {
  const people = pending.flatMap(({ change, step }) => (change.kind === 'retract' ? [] : [{ change, step }]))
  const first = await clearAndSend(work, people, (person) => person.change.kind === 'redate' || person.step !== null)
  if (first.stop || first.ignored.length === 0) return first.stop
  const second = await clearAndSend(work, first.ignored, () => true)
  if (second.stop) return second.stop
  await record(
    work,
    second.ignored.map(({ change }) => ({
      identityId: change.identityId,
      state: 'problem' as const,
      answer: { status: 200, message: 'the platform keeps another leaving date than the one sent' },
    })),
    work.ctx.now(),
  )
  return null
}

type Person = { readonly change: Exclude<Change, { kind: 'retract' }>; readonly step: PendingChange['step'] }

async function clearAndSend(
  work: SendWork,
  people: readonly Person[],
  corrects: (person: Person) => boolean,
): Promise<{ ignored: Person[]; stop: Stop | null }> {
  const uncleared = people.filter((person) => corrects(person) && person.step !== 'cleared')
  const cleared = await clearDates(work, uncleared)
  const held = new Set(uncleared.map(({ change }) => change.identityId).filter((id) => !cleared.done.has(id)))
  if (cleared.stop) return { ignored: [], stop: cleared.stop }

  const ready = people.filter(({ change }) => !held.has(change.identityId))
  const sentAt = work.ctx.now()
  const { sent, stop } = await send(
    work,
    ready.map(({ change }) => change.record),
  )
  const ignored: Person[] = []
  const outcomes = ready.flatMap((person): Outcome[] => {
    const { identityId, record: wanted } = person.change
    const result = sent.get(identityId)
    if (!result)
      return stop ? [{ identityId, state: 'due', answer: { status: stop.status, message: stop.message } }] : []
    if (result.kind !== 'taken') return [refusedOutcome(identityId, result)]
    if (wanted.separatedAt !== undefined && !sameDate(result.stored, wanted.separatedAt)) {
      ignored.push({ ...person, step: null })
      return []
    }
    return [{ identityId, state: 'confirmed', confirmed: wanted, answer: { status: result.status } }]
  })
  await record(work, outcomes, sentAt)
  return { ignored, stop }
}

/** The first step of a correction: the stored date goes. The step is stored before the request, and its end with the answer. */
async function clearDates(
  work: SendWork,
  people: readonly Person[],
): Promise<{ done: Set<string>; stop: Stop | null }> {
  const done = new Set<string>()
  if (people.length === 0) return { done, stop: null }
  const identityIds = people.map(({ change }) => change.identityId)
  if (!(await storeStep(work.ctx.store.db, work.claim, { identityIds, step: 'clearing' }))) throw new Overtaken()
  const records = people.map(({ change }): IdentityRecord => ({ ...change.record, separatedAt: null }))
  const sentAt = work.ctx.now()
  const { sent, stop } = await send(work, records)
  const outcomes = records.flatMap((cleared): Outcome[] => {
    const { identityId } = cleared
    const result = sent.get(identityId)
    if (!result) return []
    if (result.kind !== 'taken') return [refusedOutcome(identityId, result)]
    done.add(identityId)
    return [{ identityId, state: 'due', step: 'cleared', confirmed: cleared, answer: { status: result.status } }]
  })
  await record(work, outcomes, sentAt)
  return { done, stop }
}

/** Sends records by the operation that suits the batch: upserts in one request, updates each by its own unless there are too many. */
async function send(work: SendWork, records: readonly IdentityRecord[]): Promise<Results> {
  const { ctx, claim, lane, connection } = work
  if (records.length === 0) return { sent: new Map(), stop: null }
  const { lacksUpdate } = await targetOf(ctx.store.db, connection.name)
  if (claim.kind === 'upsert' || lacksUpdate || records.length > connection.delivery.updateWave) {
    return await upsert(lane, records)
  }
  const updated = await update(lane, records)
  const missing = records.filter(({ identityId }) => updated.sent.get(identityId)?.kind === 'missing')
  const [probe] = missing
  if (!probe || updated.stop) return withoutMissing(updated)

  // A 404 says that the person is not there, or that the platform has no such operation: one look tells which.
  const there = await exists(lane, probe.identityId)
  if (typeof there !== 'boolean') return { ...withoutMissing(updated), stop: there }
  if (there) await setLacksUpdate(ctx.store.db, connection.name)
  const upserted = await upsert(lane, missing)
  return { sent: new Map([...withoutMissing(updated).sent, ...upserted.sent]), stop: upserted.stop }
}

function withoutMissing({ sent, stop }: Results): Results {
  return { sent: new Map([...sent].filter(([, result]) => result.kind !== 'missing')), stop }
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

async function record({ ctx, claim }: Work, outcomes: readonly Outcome[], sentAt: Date): Promise<void> {
  if (outcomes.length === 0) return
  if (!(await recordOutcomes(ctx.store.db, claim, { outcomes, sentAt, now: ctx.now() }))) throw new Overtaken()
  for (const { identityId, state, answer } of outcomes) {
    if (state !== 'problem') continue
    const status = typeof answer.status === 'number' ? answer.status : 0
    ctx.events.personRefused({ runId: claim.runId, connection: claim.connection, identityId, status })
  }
}

function refusedOutcome(identityId: string, result: Exclude<Sent, { kind: 'taken' }>): Outcome {
  return result.kind === 'refused'
    ? { identityId, state: 'problem', answer: { status: result.status, message: result.message } }
    : { identityId, state: 'problem', answer: { status: 404, message: 'the platform does not know this person' } }
}

function sameDate(stored: string | null, sent: string | null): boolean {
  if (stored === null || sent === null) return stored === sent
  return Date.parse(stored) === Date.parse(sent)
}

function describe(error: unknown): string {
  return error instanceof Failure ? error.message : 'unexpected error'
}
