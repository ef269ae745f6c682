import type { IdentityRecord } from '../../identity/record.ts'
import { setLacksUpdate, targetOf } from '../../store/connections.ts'
import {
  type ClaimedDelivery,
  type Outcome,
  type PendingChange,
  recordOutcomes,
  storeStep,
  type Written,
} from '../../store/deliveries/deliveries.ts'
import { rosterSize } from '../../store/roster/roster.ts'
import type { Stop } from './answers.ts'
import type { SyncConnection, SyncContext } from '../context.ts'
import {
  exists,
  holdsAll,
  isReadBackCheap,
  type Lane,
  type Results,
  readBack,
  recordOf,
  remove,
  type Sendable,
  type Sent,
  sameDate,
  update,
  upsert,
} from './send.ts'
import { Overtaken } from '../plan/stage.ts'

/** One attempt at a batch. */
export type Work = {
  readonly ctx: SyncContext
  readonly claim: ClaimedDelivery
  readonly lane: Lane
  readonly connection: SyncConnection
  readonly progress: {
    /** How many of the batch are due. */
    pending: number
    /** Of how many of them this attempt has settled something. */
    settled: number
    /** A request of it may still arrive. */
    uncertain: boolean
    /** That everybody left was taken as wanted, which is written with the end of the attempt. */
    whole: Written | null
  }
}

/**
 * An earlier request of this batch may have reached the platform: whoever is there as wanted is settled, whoever is not is left to
 * be sent. Where reading would take many requests, everybody is left: sending again changes nothing twice, and its answer tells.
 */
export async function settleByReading(
  work: Work,
  pending: readonly PendingChange[],
): Promise<{ left: readonly PendingChange[]; stop: Stop | null }> {
  const { ctx, claim, lane } = work
  const size = await rosterSize(ctx.store.db, claim.connection)
  if (!isReadBackCheap(pending.length, size)) return { left: pending, stop: null }
  const sentAt = ctx.now()
  const { found, stop } = await readBack(
    lane,
    pending.map(({ identityId }) => identityId),
  )
  if (stop) return { left: pending, stop }
  const settled = pending.filter(({ identityId, json }) => {
    const identity = found.get(identityId)
    return json === null ? identity === undefined : identity !== undefined && holdsAll(identity, recordOf({ json }))
  })
  await record(
    work,
    settled.map(({ identityId, json }) => ({
      identityId,
      state: 'confirmed' as const,
      holds: json === null ? { confirmed: null } : 'wanted',
      answer: { status: 200, message: 'read back: the platform has it' },
    })),
    sentAt,
  )
  const done = new Set(settled.map(({ identityId }) => identityId))
  return { left: pending.filter(({ identityId }) => !done.has(identityId)), stop: null }
}

/** Takes the people of a batch off the platform. */
export async function takeOff(work: Work, pending: readonly PendingChange[]): Promise<Stop | null> {
  const sentAt = work.ctx.now()
  const { sent, stop } = await remove(
    work.lane,
    pending.map(({ identityId }) => identityId),
  )
  const outcomes = [...sent].map(
    ([identityId, result]): Outcome =>
      result.kind === 'taken'
        ? { identityId, state: 'confirmed', holds: { confirmed: null }, answer: { status: result.status } }
        : refusedOutcome(identityId, result),
  )
  await record(work, outcomes, sentAt)
  return stop
}

/**
 * Corrections first lose their stored leaving date, because the platform ignores another one while it has one; then everybody
 * is sent. Whoever turns out to hold another date than the one sent goes through the same correction once.
 */
export async function correctAndSend(work: Work, pending: readonly PendingChange[]): Promise<Stop | null> {
  const people = pending.filter((person): person is Person => person.json !== null)
  const first = await clearAndSend(
    work,
    people,
    (person) => person.kind === 'correct' || person.step !== null,
    'date_ignored',
  )
  if (first.stop || first.ignored.length === 0) return first.stop
  const second = await clearAndSend(work, first.ignored, () => true, 'date_kept')
  return second.stop
}

type Person = PendingChange & Sendable

async function clearAndSend(
  work: Work,
  people: readonly Person[],
  corrects: (person: Person) => boolean,
  whenIgnored: 'date_ignored' | 'date_kept',
): Promise<{ ignored: Person[]; stop: Stop | null }> {
  const uncleared = people.filter((person) => corrects(person) && person.step !== 'cleared')
  const cleared = await clearDates(work, uncleared)
  if (cleared.stop) return { ignored: [], stop: cleared.stop }

  const kept = new Set(uncleared.filter((person) => !cleared.done.has(person.identityId)))
  const ready = people.filter((person) => !kept.has(person))
  const sentAt = work.ctx.now()
  const { sent, stop } = await send(work, ready)
  const ignored: Person[] = []
  const outcomes: Outcome[] = []
  for (const person of ready) {
    const { identityId, separatedAt } = person
    const result = sent.get(identityId)
    if (!result) continue
    if (result.kind !== 'taken') outcomes.push(refusedOutcome(identityId, result))
    else if (!sameDate(result.stored, separatedAt)) {
      ignored.push({ ...person, step: null })
      const state = whenIgnored === 'date_kept' ? 'problem' : 'due'
      const message = 'the platform keeps another leaving date than the one sent'
      outcomes.push({ identityId, state, answer: { status: result.status, code: whenIgnored, message } })
    } else outcomes.push({ identityId, state: 'confirmed', holds: 'wanted', answer: { status: result.status } })
  }
  await record(work, outcomes, sentAt)
  return { ignored, stop }
}

/** The first step of a correction: the stored date goes. The step is stored before the request, and its end with the answer. */
async function clearDates(work: Work, people: readonly Person[]): Promise<{ done: Set<string>; stop: Stop | null }> {
  const done = new Set<string>()
  if (people.length === 0) return { done, stop: null }
  const identityIds = people.map(({ identityId }) => identityId)
  if (!(await storeStep(work.ctx.store.db, work.claim, { identityIds, step: 'clearing' }))) throw new Overtaken()
  tellStep(work, 'clearing', people.length)
  const records = people.map((person): IdentityRecord => ({ ...recordOf(person), separatedAt: null }))
  const sentAt = work.ctx.now()
  const { sent, stop } = await send(
    work,
    records.map((cleared) => ({
      identityId: cleared.identityId,
      separatedAt: null,
      json: JSON.stringify(cleared),
    })),
  )
  const outcomes = records.flatMap((confirmed): Outcome[] => {
    const { identityId } = confirmed
    const result = sent.get(identityId)
    if (!result) return []
    if (result.kind !== 'taken') return [refusedOutcome(identityId, result)]
    done.add(identityId)
    return [{ identityId, state: 'due', step: 'cleared', holds: { confirmed }, answer: { status: result.status } }]
  })
  await record(work, outcomes, sentAt)
  if (done.size > 0) tellStep(work, 'cleared', done.size)
  return { done, stop }
}

function tellStep({ ctx, claim }: Work, step: NonNullable<PendingChange['step']>, people: number): void {
  const { runId, connection, kind: job, batch } = claim
  ctx.events.stepStored({ runId, connection, job, batch, step, people })
}

/** Sends records by the operation that suits the batch: upserts in one request, updates each by its own unless there are too many. */
async function send(work: Work, people: readonly Sendable[]): Promise<Results> {
  const { ctx, claim, lane, connection } = work
  if (people.length === 0) return { sent: new Map(), stop: null }
  const isOneByOne = claim.kind === 'update' && people.length <= connection.delivery.updateWave
  if (!isOneByOne || (await targetOf(ctx.store.db, connection.name)).lacksUpdate) return await upsert(lane, people)
  const updated = await update(lane, people)
  const missing = people.filter(({ identityId }) => updated.sent.get(identityId)?.kind === 'missing')
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

async function record(work: Work, outcomes: readonly Outcome[], sentAt: Date): Promise<void> {
  if (outcomes.length === 0) return
  const { ctx, claim, progress } = work
  const written = { outcomes, sentAt, now: ctx.now() }
  const isWhole = outcomes.length === progress.pending && outcomes.every(({ holds }) => holds === 'wanted')
  if (isWhole) progress.whole = written
  else if (await recordOutcomes(ctx.store.db, claim, written)) tellOutcomes(work, outcomes)
  else throw new Overtaken()
  progress.settled += outcomes.length
  progress.pending -= outcomes.filter(({ state }) => state !== 'due').length
}

/** Tells of outcomes that are written. */
export function tellOutcomes({ ctx, claim }: Pick<Work, 'ctx' | 'claim'>, outcomes: readonly Outcome[]): void {
  const { runId, connection, kind: job, batch } = claim
  ctx.events.outcomesRecorded({ runId, connection, job, batch, people: outcomes.length })
  for (const { identityId, state, answer } of outcomes) {
    if (state !== 'problem') continue
    const status = typeof answer.status === 'number' ? answer.status : 0
    ctx.events.personRefused({ runId, connection, identityId, status })
  }
}

function refusedOutcome(identityId: string, result: Exclude<Sent, { kind: 'taken' }>): Outcome {
  const { status, code, message } =
    result.kind === 'refused'
      ? result
      : { status: 404, code: 'person_missing', message: 'the platform does not know this person' }
  return { identityId, state: 'problem', answer: { status, code, message } }
}
