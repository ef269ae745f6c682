import type { PendingChange } from '../../store/deliveries/pending.ts'
import { rosterSize } from '../../store/roster/roster.ts'
import type { Stop } from '../rate-limit/classify-answers.ts'
import { defaultSingleLookUps, listSize, lookUpPeople, matchesRecord } from '../target/look-up.ts'
import { type Attempt, parseRecord, saveOutcomes, shouldContinue } from './attempt.ts'

/**
 * Looks up the people of a batch whose earlier request may have reached the platform. Records those who are there as desired, and returns the
 * others, who are still to be sent. If looking up takes many requests, returns everybody: sending again changes nothing twice. Deletions are
 * always repeated, because a person who cannot be looked up need not be deleted.
 */
export async function resolveUncertain(
  attempt: Attempt,
  pending: readonly PendingChange[],
): Promise<{ remaining: readonly PendingChange[]; stop: Stop | null }> {
  const { ctx, claim } = attempt
  const size = await rosterSize(ctx.store.db, claim.connection)
  const isOneByOne = attempt.records === null && pending.length <= defaultSingleLookUps
  const isCheap = isOneByOne || size <= defaultSingleLookUps * listSize
  if (!isCheap) return { remaining: pending, stop: null }
  const sentAt = ctx.now()
  const { people, stop } = await lookUpPeople(
    attempt,
    pending.map(({ identityId }) => identityId),
  )
  // People who could not be looked up are sent again.
  if (stop && !shouldContinue(attempt, stop)) return { remaining: pending, stop }
  const isThere = ({ identityId, json }: PendingChange): boolean => {
    const identity = people.get(identityId)
    return identity !== undefined && json !== null && matchesRecord(identity, parseRecord({ json }))
  }
  const { there = [], remaining = [] } = Object.groupBy(pending, (person) => (isThere(person) ? 'there' : 'remaining'))
  const outcomes = there.map(({ identityId }) => ({
    identityId,
    state: 'confirmed' as const,
    holds: 'desired' as const,
    answer: { status: 200, message: 'looked up: the platform has it' },
  }))
  await saveOutcomes(attempt, outcomes, sentAt)
  return { remaining, stop: null }
}
