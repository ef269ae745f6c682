import type { PlannedPerson } from '../../identity/decide/decider.ts'
import type { FieldName, IdentityRecord, Traits } from '../../identity/record.ts'
import { addressDigest, knownTraits } from '../../identity/rekeyed.ts'
import {
  digested,
  digestMark,
  holdsValues,
  isDigest,
  sendable,
  type ValueDigests,
} from '../../identity/value-digests.ts'
import { keyOf } from '../audit/key.ts'
import type { Db } from '../schema.ts'

/** 132 bits: no two of them are ever the same by chance. */
const digestLength = 22

/** The digests of a connection, made with the key of this installation; null where there is no key. */
export function valueDigests(db: Db, connection: string): ValueDigests | null {
  const key = keyOf(db)
  if (key === null) return null
  const make = (bound: readonly string[], text: string) => {
    const [, hex = ''] = key.digest(JSON.stringify([connection, ...bound]), text).split(':')
    const short = Buffer.from(hex, 'hex').toString('base64url').slice(0, digestLength)
    return `${digestMark}${key.name}:${short}`
  }
  return {
    keyName: key.name,
    of: (identityId, field, value) => make([identityId, field], JSON.stringify(value)),
    trait: (text) => make([], text),
  }
}

/** What a person can be known again by, as far as the record shows it. `fresh`: the fields that are new in it. */
export function traitsOf(
  record: IdentityRecord,
  digests: Pick<ValueDigests, 'trait'>,
  fresh: (field: FieldName) => boolean = () => true,
): Traits {
  const { email } = record
  const traits = knownTraits(record, digests.trait)
  // Of a name of which one part is new and another one is not known, nothing can be said any more.
  const isNameLost = traits.name === undefined && nameFields.some(fresh)
  return {
    ...traits,
    ...(isNameLost && { name: null }),
    ...(!isDigest(email) && { address: addressOf(email ?? null, digests) }),
  }
}

const nameFields: readonly FieldName[] = ['firstName', 'lastName', 'startedAt']

function addressOf(email: string | null, { trait }: Pick<ValueDigests, 'trait'>): string | null {
  return email === null ? null : trait(addressDigest(email))
}

/** A planned person as the store takes it. */
export type StagedPerson = PlannedPerson & {
  readonly partial: boolean
  readonly toDigest: boolean
  readonly traits: Traits | null
}

/**
 * A planned person in the form in which the plan is kept. With digests, only what the platform has yet to acknowledge is kept as a value,
 * until it has. A record is sent without the values that are not known.
 */
export function stagedForm(person: PlannedPerson, digests: ValueDigests | null): StagedPerson {
  const { entry, change, confirmed = null } = person
  const record = change === null || change.kind === 'retract' ? null : change.record
  const sent = record && sendable(record)
  const isPartial = sent !== record
  const form = {
    ...person,
    change: isPartial ? ({ ...change, record: sent } as PlannedPerson['change']) : change,
    partial: isPartial,
    toDigest: false,
    traits: null,
  }
  const wanted = entry?.wanted ?? null
  if (digests === null || wanted === null) return form
  const isFresh = (field: FieldName) => (wanted[field] ?? null) !== (confirmed?.[field] ?? null)
  const kept = digested(wanted, digests, isFresh)
  return {
    ...form,
    entry: entry && { ...entry, wanted: kept },
    toDigest: holdsValues(kept),
    traits: traitsOf(wanted, digests, isFresh),
  }
}
