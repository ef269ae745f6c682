import type { PendingChange } from '../../store/deliveries/claim.ts'
import {
  type Attempt,
  change,
  type PersonResult,
  problemOf,
  type RecordText,
  type Results,
  record,
  recordOf,
} from './attempt.ts'
import { classifyAnswer, type Stop } from './classify-answers.ts'
import { personParams } from './endpoint.ts'

/** Updates each person by a request of their own, several at once. */
export async function update(attempt: Attempt, people: readonly RecordText[]): Promise<Results> {
  return await forEach(attempt, people, async (person) => {
    const { identityId, ...fields } = recordOf(person)
    const answer = await change(attempt, 1, (client, options) =>
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

/** Deletes the people of a batch from the platform, each by a request of their own. A person who is not there counts as deleted. */
export async function deletePeople(attempt: Attempt, pending: readonly PendingChange[]): Promise<Stop | null> {
  const sentAt = attempt.ctx.now()
  const { results, stop } = await forEach(attempt, pending, async ({ identityId }) => {
    const answer = await change(attempt, 1, (client, options) =>
      client.deleteHrisUserIdentity({ params: personParams(attempt, identityId) }, options),
    )
    const classified = classifyAnswer(answer)
    if (classified.kind === 'done' || classified.kind === 'missing')
      return { kind: 'taken', status: classified.status, stored: null }
    return classified.kind === 'refused' ? { ...classified, code: 'person_refused' } : classified
  })
  const outcomes = [...results].map(([identityId, result]) =>
    result.kind === 'taken'
      ? ({ identityId, state: 'confirmed', holds: { confirmed: null }, answer: { status: result.status } } as const)
      : problemOf(identityId, result),
  )
  await record(attempt, outcomes, sentAt)
  return stop
}

/** Runs a task for each person, `inFlight` at a time. Begins no further one after a stop or a throw, and waits for those under way. */
async function forEach<P extends { readonly identityId: string }>(
  attempt: Attempt,
  people: readonly P[],
  task: (person: P) => Promise<PersonResult | Stop>,
): Promise<Results> {
  const results = new Map<string, PersonResult>()
  let stop: Stop | null = null
  const errors: unknown[] = []
  const waiting = people.values()
  const work = async (): Promise<void> => {
    for (const person of waiting) {
      if (stop || attempt.isBrokenOff) return
      const result = await task(person)
      if (result.kind === 'wait' || result.kind === 'retry' || result.kind === 'blocked') stop ??= result
      else results.set(person.identityId, result)
    }
  }
  const breakOff = (error: unknown): void => {
    attempt.isBrokenOff = true
    errors.push(error)
  }
  await Promise.all(Array.from({ length: attempt.platform.inFlight }, () => work().catch(breakOff)))
  if (errors.length > 0) throw errors[0]
  return { results, stop }
}
