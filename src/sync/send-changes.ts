import type { Change } from '../identity/change.ts'
import type { IdentityRecord } from '../identity/record.ts'
import { setLacksUpdate, targetOf } from '../store/connections.ts'
import {
  type ClaimedDelivery,
  type Outcome,
  type PendingChange,
  recordOutcomes,
  storeStep,
} from '../store/deliveries.ts'
import type { Stop } from './answers.ts'
import type { SyncConnection, SyncContext } from './context.ts'
import { exists, type Lane, type Results, remove, type Sent, update, upsert } from './send.ts'
import { Overtaken } from './stage.ts'

export type Work = { readonly ctx: SyncContext; readonly claim: ClaimedDelivery; readonly lane: Lane }
export type SendWork = Work & { readonly connection: SyncConnection }

/** Takes the people of a batch off the platform. */
export async function takeOff(work: Work, pending: readonly PendingChange[]): Promise<Stop | null> {
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
export async function correctAndSend(work: SendWork, pending: readonly PendingChange[]): Promise<Stop | null> {
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
