import { changeTo } from '../../identity/difference.ts'
import { fieldsOf, type IdentityRecord, type RosterEntry } from '../../identity/record.ts'
import type { ReadBack } from '../../store/roster/roster.ts'
import { type Endpoint, isRemoved } from '../target/endpoint.ts'
import { type PlatformPerson, isOnPlatform, listPeople, lookUpPeople } from '../target/look-up.ts'
import type { Stop } from '../rate-limit/classify-answers.ts'

/** So many people are read before what was found is noted. */
const portionSize = 100

/**
 * Reads people back and hands them to `note` portion by portion, each with those of them whom the platform holds. However many people there
 * are, the list is read once at most, and what it says is held for one portion only. Answers what ended the reading early.
 */
export async function lookUpInPortions(
  endpoint: Endpoint,
  people: ReadonlySet<string>,
  {
    maxSingleLookUps,
    recordRead: note,
  }: {
    readonly maxSingleLookUps: number
    readonly recordRead: (identityIds: readonly string[], held: readonly PlatformPerson[]) => Promise<void>
  },
): Promise<Stop | null> {
  const unread = new Set(people)
  const noteRead = async (identityIds: readonly string[], held: readonly PlatformPerson[]): Promise<void> => {
    if (identityIds.length > 0) await note(identityIds, held)
    for (const identityId of identityIds) unread.delete(identityId)
  }
  if (people.size > maxSingleLookUps) {
    const take = async (page: readonly PlatformPerson[]): Promise<boolean> => {
      const held = page.filter(({ identityId }) => unread.has(identityId))
      await noteRead(
        held.map(({ identityId }) => identityId),
        held,
      )
      return unread.size > 0
    }
    const stop = await listPeople(endpoint, take, { newestFirst: true })
    if (stop) return stop
    for (const identityIds of portionsOf(unread)) await noteRead(identityIds, [])
    return null
  }
  for (const identityIds of portionsOf(unread)) {
    const { people: found, stop } = await lookUpPeople(endpoint, identityIds, { maxSingleLookUps: portionSize })
    if (stop) return stop
    await noteRead(identityIds, [...found.values()])
  }
  return null
}

export function portionsOf(people: Iterable<string>): (readonly string[])[] {
  const identityIds = [...people]
  return Array.from({ length: Math.ceil(identityIds.length / portionSize) }, (_, at) =>
    identityIds.slice(at * portionSize, (at + 1) * portionSize),
  )
}

/** Where a person is read back from. */
type From = Pick<Endpoint, 'records'>

/** What reading a person back shows: that the platform has them as desired, or what it has instead. */
export function comparePerson(from: From, entry: RosterEntry, identity: PlatformPerson | null): ReadBack {
  const { identityId, desired, retracted } = entry
  if (identity === null) {
    const isMeant = retracted === null && isRemoved(from, desired)
    return isMeant ? { identityId, asDesired: true } : { identityId, asDesired: false, confirmed: null }
  }
  const confirmed = asRecord(identity, entry.confirmed ?? desired ?? { identityId })
  const isDesired = desired !== null && retracted === null && !differs(from, desired, confirmed)
  return isDesired ? { identityId, asDesired: true } : { identityId, asDesired: false, confirmed }
}

/** Whether the platform holds of a person what it was known to hold. */
export function isAsKnown(from: From, entry: RosterEntry, identity: PlatformPerson | null): boolean {
  const { confirmed } = entry
  if (identity === null || confirmed === null) return identity === null && !isOnPlatform(from, entry)
  const found = asRecord(identity, confirmed)
  return !differs(from, confirmed, found)
}

function differs({ records }: From, known: IdentityRecord, found: IdentityRecord): boolean {
  const start = { confirmed: found, inferred: false, carried: true, removes: records !== null }
  return changeTo(known, start) !== null
}

/** What the platform holds of a person, in the fields that are kept here. */
function asRecord(identity: PlatformPerson, kept: IdentityRecord): IdentityRecord {
  const fields = fieldsOf(kept)
    .filter((field) => kept[field] !== undefined)
    .map((field) => [field, identity[field] ?? null])
  return { identityId: identity.identityId, ...Object.fromEntries(fields) }
}
