import { Failure } from '../../errors.ts'
import { changeTo } from '../../identity/difference.ts'
import { fieldsOf, type IdentityRecord, type RosterEntry } from '../../identity/record.ts'
import { holdsDigests, type Stated } from '../../identity/value-digests.ts'
import type { ReadBack } from '../../store/roster/roster.ts'
import type { SyncConnection } from '../context.ts'
import type { Stop } from '../deliver/classify-answers.ts'
import { type Endpoint, isRemoved } from '../deliver/endpoint.ts'
import { type Held, isHeld } from '../deliver/look-up.ts'

/** Where a person is read back from. */
type From = Pick<Endpoint, 'records'>

/** What the platform states of people, by which values that are kept as digests are compared. */
export function statedBy(identities: Iterable<Held>): Map<string, readonly Stated[]> {
  return new Map([...identities].map((identity) => [identity.identityId, [identity]]))
}

/**
 * What reading a person back shows: that the platform has them as wanted, or what it has instead. A digest that is left in the entry,
 * read with what the platform states, stands for another value than the platform has.
 */
export function compareWith(from: From, entry: RosterEntry, identity: Held | null): ReadBack {
  const { identityId, wanted, retracted } = entry
  if (identity === null) {
    const isMeant = retracted === null && isRemoved(from, wanted)
    return isMeant ? { identityId, asWanted: true } : { identityId, asWanted: false, confirmed: null }
  }
  const confirmed = asRecord(identity, entry.confirmed ?? wanted ?? { identityId })
  const isWanted = wanted !== null && retracted === null && !differs(from, wanted, confirmed)
  return isWanted ? { identityId, asWanted: true } : { identityId, asWanted: false, confirmed }
}

/** Whether the platform holds of a person what it was known to hold. */
export function isAsKnown(from: From, entry: RosterEntry, identity: Held | null): boolean {
  const { confirmed } = entry
  if (identity === null || confirmed === null) return identity === null && !isHeld(from, entry)
  const found = asRecord(identity, confirmed)
  return !differs(from, confirmed, found)
}

function differs({ records }: From, known: IdentityRecord, found: IdentityRecord): boolean {
  const start = { confirmed: found, inferred: false, carried: true, removes: records !== null }
  return holdsDigests(known) || changeTo(known, start) !== null
}

/** What the platform holds of a person, in the fields that are kept here. */
export function asRecord(identity: Held, kept: IdentityRecord): IdentityRecord {
  const fields = fieldsOf(kept)
    .filter((field) => kept[field] !== undefined)
    .map((field) => [field, identity[field] ?? null])
  return { identityId: identity.identityId, ...Object.fromEntries(fields) }
}

export function asFailure(connection: SyncConnection, stop: Stop): Failure {
  const code = stop.kind === 'blocked' ? 'blocked' : 'platform_unreachable'
  return new Failure(code, `connection "${connection.name}" cannot be verified: ${stop.message}`)
}
