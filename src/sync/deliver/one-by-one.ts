import type { AnyAnswer } from '../../http/client/answer.ts'
import type { PersonOutcome } from '../../store/deliveries/outcomes.ts'
import { changedFields, type PendingChange } from '../../store/deliveries/pending.ts'
import { classifyAnswer, decisiveStop, type Stop } from '../rate-limit/classify-answers.ts'
import { personParams, requireRecords } from '../target/endpoint.ts'
import { lookUpPeople } from '../target/look-up.ts'
import {
  type Attempt,
  type PersonResult,
  parseRecord,
  problemOutcome,
  type RecordText,
  type Results,
  recordFailedAlone,
  saveOutcomes,
  sendChange,
  shouldContinue,
} from './attempt.ts'
import { shapeRefusal } from './upsert.ts'

/** Updates each person by their own request, several at once. */
export async function update(attempt: Attempt, people: readonly RecordText[]): Promise<Results> {
  return await forEach(attempt, people, async (person) => {
    const { identityId, ...fields } = parseRecord(person)
    const answer = await sendChange(attempt, 1, (client, options) =>
      client.updateHrisUserIdentity({ params: personParams(attempt, identityId), body: fields }, options),
    )
    const classified = classifyAnswer(answer)
    switch (classified.kind) {
      case 'done':
        return { kind: 'taken', status: classified.status, stored: classified.body.separatedAt }
      case 'missing':
        return { kind: 'missing' }
      case 'refused':
        return { ...classified, code: 'person_refused' }
      default:
        return classified
    }
  })
}

/**
 * Changes properties of each record by its own request. A record that loses a property goes through the upsert, which replaces the whole
 * record: a merge removes nothing.
 */
export async function updateRecords(attempt: Attempt, people: readonly RecordText[]): Promise<Results> {
  const { params, shape } = requireRecords(attempt)
  const changed = await changedFields(attempt.ctx.store.db, attempt.claim)
  return await forEach(attempt, people, async (person) => {
    const record = parseRecord(person)
    const { identityId } = record
    const fault = shape.faultOf(record, false)
    if (fault !== null) return shapeRefusal(fault)
    const { id: _key, ...attributes } = shape.attributesOf(record)
    const fields = Object.entries(changed.get(identityId) ?? {})
    const tops = new Set(fields.map(([field]) => field.slice(1).split('.')[0]))
    const data = Object.fromEntries(Object.entries(attributes).filter(([name]) => tops.has(name)))
    if (fields.length === 0 || fields.some(([, { to }]) => to === null)) return { kind: 'missing' }
    const answer = await sendChange(attempt, 1, (client, options) =>
      client.updateCustomDataRecord({ params: { ...params, recordId: identityId }, body: { data } }, options),
    )
    const classified = classifyAnswer(answer)
    if (classified.kind === 'done') return { kind: 'taken', status: classified.status, stored: null }
    if (classified.kind === 'missing') return { kind: 'missing' }
    return classified.kind === 'refused' ? { ...classified, code: 'person_refused' } : classified
  })
}

/** Deletes the people of a batch from the platform, each by their own request. A person who is not there counts as deleted. */
export async function deletePeople(attempt: Attempt, pending: readonly PendingChange[]): Promise<Stop | null> {
  const sentAt = attempt.ctx.now()
  const answered = await forEach(attempt, pending, async ({ identityId }) => {
    const answer = await sendChange<AnyAnswer>(attempt, 1, (client, options) =>
      attempt.records === null
        ? client.deleteHrisUserIdentity({ params: personParams(attempt, identityId) }, options)
        : client.deleteCustomDataRecord(
            { params: { ...requireRecords(attempt).params, recordId: identityId } },
            options,
          ),
    )
    const classified = classifyAnswer(answer)
    switch (classified.kind) {
      case 'done':
        return { kind: 'taken', status: classified.status, stored: null }
      case 'missing':
        return classified.status === 404 ? { kind: 'missing' } : notDeleted(classified)
      case 'refused':
        return notDeleted(classified)
      default:
        return classified
    }
  })
  const { results, stop } = await confirmMissing(attempt, pending, answered)
  const kinds = new Map(pending.map(({ identityId, kind }) => [identityId, kind]))
  const outcomes = [...results].map(([identityId, result]): PersonOutcome => {
    if (result.kind !== 'taken') return problemOutcome(identityId, result)
    const holds = kinds.get(identityId) === 'leave' ? 'desired' : { confirmed: null }
    return { identityId, state: 'confirmed', holds, answer: { status: result.status } }
  })
  await saveOutcomes(attempt, outcomes, sentAt)
  return stop
}

function notDeleted({ status, message }: { readonly status: number; readonly message: string }): PersonResult {
  return { kind: 'refused', code: 'person_refused', status, message }
}

/**
 * Looks up in the platform's list the people whom a 404 reports as missing. A gateway that does not know the path, and a platform without
 * the connection, also answer 404. If requests failed again, people without an answer are looked up as well.
 */
async function confirmMissing(
  attempt: Attempt,
  pending: readonly PendingChange[],
  answered: Results,
): Promise<Results> {
  const certain = withoutMissing(answered)
  if (certain.stop && !shouldContinue(attempt, certain.stop)) return certain
  const isMissing = (identityId: string): boolean => answered.results.get(identityId)?.kind === 'missing'
  const open = pending.map(({ identityId }) => identityId).filter((identityId) => !certain.results.has(identityId))
  if (open.length === 0) return certain
  const { people: listed, stop } = await lookUpPeople(attempt, open, { maxSingleLookUps: 0 })
  if (stop) return { ...certain, stop: decisiveStop(certain.stop, stop) }
  const message = 'the platform says that the person is not there (404), and lists the person'
  const lookedUp = open.flatMap((identityId): [string, PersonResult][] => {
    if (!listed.has(identityId)) return [[identityId, { kind: 'taken', status: 404, stored: null }]]
    return isMissing(identityId) ? [[identityId, notDeleted({ status: 404, message })]] : []
  })
  const isResolved = lookedUp.length === open.length
  return { results: new Map([...certain.results, ...lookedUp]), stop: isResolved ? null : certain.stop }
}

/** The results without those of missing people. */
export function withoutMissing({ results, stop }: Results): Results {
  return { results: new Map([...results].filter(([, result]) => result.kind !== 'missing')), stop }
}

/**
 * Runs a task for each person, `inFlight` at a time. After an error, or a stop after which the batch must not continue, it starts no further
 * task and waits for the running ones.
 */
async function forEach<P extends { readonly identityId: string }>(
  attempt: Attempt,
  people: readonly P[],
  task: (person: P) => Promise<PersonResult | Stop>,
): Promise<Results> {
  const results = new Map<string, PersonResult>()
  let stop: Stop | null = null
  let isStopped = false
  const errors: unknown[] = []
  const waiting = people.values()
  const work = async (): Promise<void> => {
    for (const person of waiting) {
      if (isStopped || attempt.isAborted) return
      const result = await task(person)
      if (result.kind === 'wait' || result.kind === 'retry' || result.kind === 'blocked') {
        stop = decisiveStop(stop, result)
        recordFailedAlone(attempt, person.identityId, result)
        isStopped ||= !shouldContinue(attempt, result)
      } else results.set(person.identityId, result)
    }
  }
  const breakOff = (error: unknown): void => {
    attempt.isAborted = true
    errors.push(error)
  }
  await Promise.all(Array.from({ length: attempt.platform.inFlight }, () => work().catch(breakOff)))
  if (errors.length > 0) throw errors[0]
  return { results, stop }
}
