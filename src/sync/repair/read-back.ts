import type { Identity } from '../../contract/platform/hris-user-identities.ts'
import { Failure } from '../../errors.ts'
import { changeTo } from '../../identity/difference.ts'
import { fieldNames, type IdentityRecord, type RosterEntry } from '../../identity/record.ts'
import { holdsDigests, type Stated } from '../../identity/value-digests.ts'
import type { ReadBack } from '../../store/roster/roster.ts'
import type { SyncConnection } from '../context.ts'
import type { Stop } from '../deliver/classify-answers.ts'

/** What the platform states of people, by which values that are kept as digests are compared. */
export function statedBy(identities: Iterable<Identity>): Map<string, readonly Stated[]> {
  return new Map([...identities].map((identity) => [identity.identityId, [identity]]))
}

/**
 * What reading a person back shows: that the platform has them as wanted, or what it has instead. A digest that is left in the entry,
 * read with what the platform states, stands for another value than the platform has.
 */
export function compareWith(entry: RosterEntry, identity: Identity | null): ReadBack {
  const { identityId, wanted, retracted } = entry
  if (identity === null) return { identityId, asWanted: false, confirmed: null }
  const confirmed = asRecord(identity, entry.confirmed ?? wanted ?? { identityId })
  const isWanted = wanted !== null && retracted === null && !differs(wanted, confirmed)
  return isWanted ? { identityId, asWanted: true } : { identityId, asWanted: false, confirmed }
}

/** Whether the platform holds of a person what it was known to hold. */
export function isAsKnown({ confirmed }: RosterEntry, identity: Identity | null): boolean {
  if (identity === null || confirmed === null) return identity === null && confirmed === null
  const found = asRecord(identity, confirmed)
  return !differs(confirmed, found)
}

function differs(known: IdentityRecord, found: IdentityRecord): boolean {
  return holdsDigests(known) || changeTo(known, { confirmed: found, inferred: false, carried: true }) !== null
}

/** What the platform holds of a person, in the fields that are kept here. */
export function asRecord(identity: Identity, kept: IdentityRecord): IdentityRecord {
  const fields = fieldNames.filter((field) => kept[field] !== undefined).map((field) => [field, identity[field]])
  return { identityId: identity.identityId, ...Object.fromEntries(fields) }
}

export function asFailure(connection: SyncConnection, stop: Stop): Failure {
  const code = stop.kind === 'blocked' ? 'blocked' : 'platform_unreachable'
  return new Failure(code, `connection "${connection.name}" cannot be verified: ${stop.message}`)
}
