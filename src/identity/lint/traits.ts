import { startsAfterLeaving } from '../employment.ts'
import { fieldNames, type Observation } from '../record.ts'
import { isLikeNumber, lengthOfDigits } from './keys.ts'
import type { ReadTraits } from './watch.ts'

/**
 * What checks need to know of a row that reads as one of the last accepted export did, so that it is not read again. Rows with equal traits
 * are the same to them. A number, so that it can be kept with each row.
 */
export type RowTraits = number

const names: readonly string[] = fieldNames
const mostDigits = 20
const keyKinds = 2 * (mostDigits + 1)
const managerKinds = mostDigits + 1
const fieldBits = 1 << fieldNames.length

/** Null: the row has to be shown to the checks, whatever is known of it. */
export function rowTraits(observation: Observation): RowTraits | null {
  const { identityId, fields, statesDeparture, statesEmployed, leavingDate } = observation
  if (observation.badCells || startsAfterLeaving(observation) || isLikeNumber(identityId)) return null
  // The date may have come though the status says otherwise, which is told of every export that says so.
  if (statesEmployed && typeof leavingDate === 'string') return null
  let filled = 0
  for (const [at, field] of fieldNames.entries()) {
    const value = field === 'separatedAt' ? leavingDate : fields[field]
    if (value != null) filled |= 1 << at
  }
  const key = lengthOfDigits(identityId)
  const manager = typeof fields.managerId === 'string' ? lengthOfDigits(fields.managerId) : plain
  const hasLeft = statesDeparture || typeof leavingDate === 'string' ? 1 : 0
  const ofKey = key.digits + (key.isPadded ? mostDigits + 1 : 0)
  const ofManager = manager.isPadded ? manager.digits : 0
  return ((ofManager * keyKinds + ofKey) * fieldBits + filled) * 2 + hasLeft
}

const plain = { digits: 0, isPadded: false }

export function readTraits(traits: RowTraits): ReadTraits {
  const hasLeft = traits % 2 === 1
  const filled = Math.floor(traits / 2) % fieldBits
  const keys = Math.floor(traits / 2 / fieldBits)
  const ofKey = keys % keyKinds
  return {
    left: hasLeft,
    fills: (field) => (filled & (1 << names.indexOf(field))) !== 0,
    digits: ofKey % (mostDigits + 1),
    isPadded: ofKey > mostDigits,
    managerDigits: Math.floor(keys / keyKinds) % managerKinds,
  }
}
