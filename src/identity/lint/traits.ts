import { startsAfterLeaving } from '../employment.ts'
import { fieldNames, type Observation } from '../record.ts'
import { isLikeNumber, lengthOfDigits } from './keys.ts'
import type { ReadTraits } from './watch.ts'

/** The traits of a row as a number that can be stored with each row. The checks treat rows with equal traits alike. */
export type RowTraits = number

const names: readonly string[] = fieldNames
const maxDigits = 20
const keyKinds = 2 * (maxDigits + 1)
const managerKinds = maxDigits + 1
const fieldBits = 1 << fieldNames.length

/** The traits of a row; null if the checks always need the row itself. */
export function rowTraits(observation: Observation): RowTraits | null {
  const { identityId, fields, statesDeparture, statesEmployed, leavingDate } = observation
  if (observation.badCells || startsAfterLeaving(observation) || isLikeNumber(identityId)) return null
  // The status contradicts the date. Each export that does so gets a warning.
  if (statesEmployed && typeof leavingDate === 'string') return null
  let filled = 0
  for (const [at, field] of fieldNames.entries()) {
    const value = field === 'separatedAt' ? leavingDate : fields[field]
    if (value != null) filled |= 1 << at
  }
  const key = lengthOfDigits(identityId)
  const manager = typeof fields.managerId === 'string' ? lengthOfDigits(fields.managerId) : plain
  const isLeaver = statesDeparture || typeof leavingDate === 'string' ? 1 : 0
  const ofKey = key.digits + (key.isPadded ? maxDigits + 1 : 0)
  const ofManager = manager.isPadded ? manager.digits : 0
  return ((ofManager * keyKinds + ofKey) * fieldBits + filled) * 2 + isLeaver
}

const plain = { digits: 0, isPadded: false }

/** The traits that a number stands for. */
export function readTraits(traits: RowTraits): ReadTraits {
  const filled = Math.floor(traits / 2) % fieldBits
  const keys = Math.floor(traits / 2 / fieldBits)
  const ofKey = keys % keyKinds
  return {
    isLeaver: traits % 2 === 1,
    fills: (field) => (filled & (1 << names.indexOf(field))) !== 0,
    digits: ofKey % (maxDigits + 1),
    isPadded: ofKey > maxDigits,
    managerDigits: Math.floor(keys / keyKinds) % managerKinds,
  }
}
