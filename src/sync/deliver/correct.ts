import type { IdentityRecord } from '../../identity/record.ts'
import { setLacksUpdate, targetOf } from '../../store/connections/connections.ts'
import type { PersonOutcome } from '../../store/deliveries/outcomes.ts'
import type { PendingChange } from '../../store/deliveries/pending.ts'
import { decisiveStop, type Stop } from '../rate-limit/classify-answers.ts'
import { existsOnPlatform, isSameDate } from '../target/look-up.ts'
import {
  type Attempt,
  beginStep,
  parseRecord,
  problemOutcome,
  type RecordText,
  type Results,
  recordStep,
  saveOutcomes,
  shouldContinue,
} from './attempt.ts'
import { update, updateRecords, withoutMissing } from './one-by-one.ts'
import { upsert } from './upsert.ts'

type Person = PendingChange & RecordText

/**
 * Delivers records: first the stored leaving date of corrections is cleared, because the platform ignores another date while it
 * has one; then every record is upserted or updated. People who turn out to hold another date than the one sent are corrected, too,
 * once.
 */
export async function upsertOrCorrect(attempt: Attempt, pending: readonly PendingChange[]): Promise<Stop | null> {
  const people = pending.filter((person): person is Person => person.json !== null)
  const isCorrection = ({ kind, step }: Person): boolean => kind === 'correct' || step !== null
  const first = await clearAndSet(attempt, people, { isCorrection, ifIgnored: { state: 'due', code: 'date_ignored' } })
  if ((first.stop && !shouldContinue(attempt, first.stop)) || first.ignored.length === 0) return first.stop
  const again = { isCorrection: () => true, ifIgnored: { state: 'problem', code: 'date_kept' } } as const
  const second = await clearAndSet(attempt, first.ignored, again)
  return decisiveStop(first.stop, second.stop)
}

type Pass = {
  readonly isCorrection: (person: Person) => boolean
  /** What happens to a person whose sent date the platform ignores. */
  readonly ifIgnored: { readonly state: 'due' | 'problem'; readonly code: 'date_ignored' | 'date_kept' }
}

/** Clears the dates of corrections, and sends the records of everyone whose date need not be cleared or was. */
async function clearAndSet(
  attempt: Attempt,
  people: readonly Person[],
  { isCorrection, ifIgnored }: Pass,
): Promise<SendResult> {
  const uncleared = new Set(people.filter((person) => isCorrection(person) && person.step !== 'cleared'))
  const others = people.filter((person) => !uncleared.has(person))
  // After a failure the two take turns: failing people in a row, who open the circuit, must not block the others forever.
  const isClearingLast = uncleared.size > 0 && attempt.claim.failures % 2 === 1
  const before = isClearingLast ? await sendRecords(attempt, others, ifIgnored) : nothingSent
  if (before.stop && !shouldContinue(attempt, before.stop)) return before

  const cleared = await clearDates(attempt, [...uncleared])
  const stop = decisiveStop(before.stop, cleared.stop)
  if (stop && !shouldContinue(attempt, stop)) return { ignored: before.ignored, stop }
  const ready = people.filter((person) =>
    uncleared.has(person) ? cleared.done.has(person.identityId) : !isClearingLast,
  )
  const sent = await sendRecords(attempt, ready, ifIgnored)
  return { ignored: [...before.ignored, ...sent.ignored], stop: decisiveStop(stop, sent.stop) }
}

type SendResult = { readonly ignored: readonly Person[]; readonly stop: Stop | null }

const nothingSent: SendResult = { ignored: [], stop: null }

/** Sends the desired records. Returns the people whose date the platform ignored. */
async function sendRecords(
  attempt: Attempt,
  ready: readonly Person[],
  ifIgnored: Pass['ifIgnored'],
): Promise<SendResult> {
  const sentAt = attempt.ctx.now()
  const { results, stop } = await upsertOrUpdate(attempt, ready)
  const ignored: Person[] = []
  const outcomes: PersonOutcome[] = []
  for (const person of ready) {
    const { identityId, separatedAt } = person
    const result = results.get(identityId)
    if (!result) continue
    if (result.kind !== 'taken') outcomes.push(problemOutcome(identityId, result))
    else if (isSameDate(result.stored, separatedAt)) {
      outcomes.push({ identityId, state: 'confirmed', holds: 'desired', answer: { status: result.status } })
    } else {
      ignored.push({ ...person, step: null })
      const { state, code } = ifIgnored
      const message = 'the platform keeps another leaving date than the one sent'
      outcomes.push({ identityId, state, answer: { status: result.status, code, message } })
    }
  }
  await saveOutcomes(attempt, outcomes, sentAt)
  return { ignored, stop }
}

/** The first step of a correction: the stored date is cleared. The step is stored before the request, and its end with the answer. */
async function clearDates(
  attempt: Attempt,
  people: readonly Person[],
): Promise<{ done: ReadonlySet<string>; stop: Stop | null }> {
  const done = new Set<string>()
  if (people.length === 0) return { done, stop: null }
  await beginStep(
    attempt,
    'clearing',
    people.map(({ identityId }) => identityId),
  )
  const records = people.map((person): IdentityRecord => ({ ...parseRecord(person), separatedAt: null }))
  const texts = records.map((confirmed) => ({
    identityId: confirmed.identityId,
    separatedAt: null,
    json: JSON.stringify(confirmed),
  }))
  const sentAt = attempt.ctx.now()
  const { results, stop } = await upsertOrUpdate(attempt, texts)
  const outcomes = records.flatMap((confirmed): PersonOutcome[] => {
    const { identityId } = confirmed
    const result = results.get(identityId)
    if (!result) return []
    if (result.kind !== 'taken') return [problemOutcome(identityId, result)]
    done.add(identityId)
    return [
      {
        identityId,
        state: 'due',
        step: 'cleared',
        holds: { confirmed },
        answer: { status: result.status },
      },
    ]
  })
  await saveOutcomes(attempt, outcomes, sentAt)
  if (done.size > 0) recordStep(attempt, 'cleared', done.size)
  return { done, stop }
}

/** Chooses the operation that suits the batch: an upsert of all in one request, or an update of each unless there are too many. */
async function upsertOrUpdate(attempt: Attempt, people: readonly RecordText[]): Promise<Results> {
  const { ctx, claim, updateWave } = attempt
  const { db } = ctx.store
  if (people.length === 0) return { results: new Map(), stop: null }
  const isOneByOne = claim.kind === 'update' && people.length <= updateWave
  if (!isOneByOne || (await targetOf(db, claim.connection)).lacksUpdate) return await upsert(attempt, people)
  const updated = attempt.records === null ? await update(attempt, people) : await updateRecords(attempt, people)
  const missing = people.filter(({ identityId }) => updated.results.get(identityId)?.kind === 'missing')
  const [probe] = missing
  if (!probe || (updated.stop && !shouldContinue(attempt, updated.stop))) return withoutMissing(updated)
  if (attempt.records !== null) return await upsertMissing(attempt, updated, missing)

  // A 404 means that the person or the operation is missing: one look-up shows which.
  const there = await existsOnPlatform(attempt, probe.identityId)
  if (typeof there !== 'boolean') return { ...withoutMissing(updated), stop: decisiveStop(updated.stop, there) }
  if (there) await setLacksUpdate(db, claim.connection)
  return await upsertMissing(attempt, updated, missing)
}

async function upsertMissing(attempt: Attempt, updated: Results, missing: readonly RecordText[]): Promise<Results> {
  const upserted = await upsert(attempt, missing)
  return {
    results: new Map([...withoutMissing(updated).results, ...upserted.results]),
    stop: decisiveStop(updated.stop, upserted.stop),
  }
}
