import { changeTo } from '../../identity/difference.ts'
import { fieldsOf, type IdentityRecord, type RosterEntry } from '../../identity/record.ts'
import type { ReadBack } from '../../store/roster/roster.ts'
import type { Stop } from '../rate-limit/classify-answers.ts'
import { type Endpoint, isRemoved } from '../target/endpoint.ts'
import { isOnPlatform, listPeople, lookUpPeople, type PlatformPerson } from '../target/look-up.ts'

/** Number of people who are looked up before the results are recorded. */
const portionSize = 100

type LookUpOptions = {
  readonly maxSingleLookUps: number
  readonly recordRead: (identityIds: readonly string[], onPlatform: readonly PlatformPerson[]) => Promise<void>
}

/**
 * Looks people up and passes them to `recordRead` portion by portion: their keys, and those of them whom the platform has. However many people
 * there are, the list is read at most once, and only one portion is in memory. Returns what ended the look-up early, or null.
 */
export async function lookUpInPortions(
  endpoint: Endpoint,
  people: ReadonlySet<string>,
  { maxSingleLookUps, recordRead }: LookUpOptions,
): Promise<Stop | null> {
  const unread = new Set(people)
  const recordPortion = async (
    identityIds: readonly string[],
    onPlatform: readonly PlatformPerson[],
  ): Promise<void> => {
    if (identityIds.length > 0) await recordRead(identityIds, onPlatform)
    for (const identityId of identityIds) unread.delete(identityId)
  }
  if (people.size > maxSingleLookUps) {
    const take = async (page: readonly PlatformPerson[]): Promise<boolean> => {
      const onPlatform = page.filter(({ identityId }) => unread.has(identityId))
      await recordPortion(
        onPlatform.map(({ identityId }) => identityId),
        onPlatform,
      )
      return unread.size > 0
    }
    const stop = await listPeople(endpoint, take, { newestFirst: true })
    if (stop) return stop
    for (const identityIds of portionsOf(unread)) await recordPortion(identityIds, [])
    return null
  }
  for (const identityIds of portionsOf(unread)) {
    const { people: listed, stop } = await lookUpPeople(endpoint, identityIds, { maxSingleLookUps: portionSize })
    if (stop) return stop
    await recordPortion(identityIds, [...listed.values()])
  }
  return null
}

/** Splits keys into portions. */
export function portionsOf(people: Iterable<string>): (readonly string[])[] {
  const identityIds = [...people]
  return Array.from({ length: Math.ceil(identityIds.length / portionSize) }, (_, at) =>
    identityIds.slice(at * portionSize, (at + 1) * portionSize),
  )
}

/** The endpoint that a person was read from. */
type From = Pick<Endpoint, 'records'>

/** Compares a person on the platform with the desired record: equal, or the record that the platform has instead. */
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

/** Whether the platform has the confirmed record of a person. */
export function isAsKnown(from: From, entry: RosterEntry, identity: PlatformPerson | null): boolean {
  const { confirmed } = entry
  if (identity === null || confirmed === null) return identity === null && !isOnPlatform(from, entry)
  const actual = asRecord(identity, confirmed)
  return !differs(from, confirmed, actual)
}

function differs({ records }: From, known: IdentityRecord, actual: IdentityRecord): boolean {
  const start = { confirmed: actual, inferred: false, carried: true, removes: records !== null }
  return changeTo(known, start) !== null
}

/** The record of a person on the platform, limited to the fields of `kept`. */
function asRecord(identity: PlatformPerson, kept: IdentityRecord): IdentityRecord {
  const fields = fieldsOf(kept)
    .filter((field) => kept[field] !== undefined)
    .map((field) => [field, identity[field] ?? null])
  return { identityId: identity.identityId, ...Object.fromEntries(fields) }
}
