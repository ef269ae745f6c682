import type { PendingChange } from '../../store/deliveries/pending.ts'
import { rosterSize } from '../../store/roster/roster.ts'
import type { Stop } from '../rate-limit/classify-answers.ts'
import { defaultSingleLookUps, listSize, lookUpPeople, matchesRecord } from '../target/look-up.ts'
import { type Attempt, parseRecord, saveOutcomes, shouldContinue } from './attempt.ts'

/**
 * An earlier request of this batch may have reached the platform: people who are there as desired are settled, the others are left to
 * be sent. If reading would take many requests, all are left: sending again changes nothing twice, and its answer tells as much. A
 * deletion is always made again: that somebody cannot be read does not say that they were deleted.
 */
export async function resolveUncertain(
  attempt: Attempt,
  pending: readonly PendingChange[],
): Promise<{ left: readonly PendingChange[]; stop: Stop | null }> {
  const { ctx, claim } = attempt
  const size = await rosterSize(ctx.store.db, claim.connection)
  const isOneByOne = attempt.records === null && pending.length <= defaultSingleLookUps
  const isCheap = isOneByOne || size <= defaultSingleLookUps * listSize
  if (!isCheap) return { left: pending, stop: null }
  const sentAt = ctx.now()
  const { people: found, stop } = await lookUpPeople(
    attempt,
    pending.map(({ identityId }) => identityId),
  )
  // Whoever could not be read is sent again.
  if (stop && !shouldContinue(attempt, stop)) return { left: pending, stop }
  const isThere = ({ identityId, json }: PendingChange): boolean => {
    const identity = found.get(identityId)
    return identity !== undefined && json !== null && matchesRecord(identity, parseRecord({ json }))
  }
  const { there = [], left = [] } = Object.groupBy(pending, (person) => (isThere(person) ? 'there' : 'left'))
  const outcomes = there.map(({ identityId }) => ({
    identityId,
    state: 'confirmed' as const,
    holds: 'desired' as const,
    answer: { status: 200, message: 'read back: the platform has it' },
  }))
  await saveOutcomes(attempt, outcomes, sentAt)
  return { left, stop: null }
}
