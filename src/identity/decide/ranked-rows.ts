import { fingerprint } from '../digest.ts'
import type { Observation, Reject } from '../record.ts'
import type { PlanContext } from './decide.ts'
import { bothLeave, leavingIn, observationOf } from './departure.ts'
import type { Faults } from './faults.ts'
import { type Collected, emptyPage, type PersonRow, rowOf, type SeveralRows, unusableRow } from './row-book.ts'

/**
 * The row with the highest rank of a person applies. Several rows without a rank, or with the same rank, are rejected; a departure that
 * all of them state still applies.
 */
export function rankedRows(
  collected: Collected,
  { context, faults }: { readonly context: PlanContext; readonly faults: Faults },
): SeveralRows {
  const { people, departures, account } = collected

  /** Rejects the row that applied so far, because another row of the person contradicts it. No row outranks one without a rank. */
  function rejectBefore(identityId: string, before: PersonRow, other: OtherRow): void {
    if (other.rank === undefined) before.rank = undefined
    if (!before.isUsable) return
    account.records--
    withdraw(identityId)
    collected.page.observed.delete(identityId)
    before.isUsable = false
    faults.add(
      repeatedKey(identityId, { ...other, line: before.line, other: other.line, mayLeave: before.leaving !== false }),
    )
  }

  /** Rejects two rows of a person if neither outranks the other. Only a departure that both state applies. */
  function rejectBoth(before: PersonRow, observation: Observation): void {
    const { identityId, rank, origin } = observation
    const { line } = origin
    const leaving = leavingIn(observation, context)
    const departure = rank === before.rank ? bothLeave(before.leaving, leaving, context) : null
    const underTwoKeys = before.keyOrder !== (observation.keyOrder ?? 0)
    rejectBefore(identityId, before, { line, rank, underTwoKeys })
    faults.add(repeatedKey(identityId, { line, other: before.line, mayLeave: leaving !== false, underTwoKeys }))
    before.leaving = departure ?? false
    if (departure) departures.set(identityId, observationOf(departure, { identityId, origin }))
    else departures.delete(identityId)
  }

  function replace(before: PersonRow, observation: Observation): void {
    const { identityId } = observation
    if (before.isUsable) {
      account.older++
      withdraw(identityId)
    } else {
      account.records++
    }
    Object.assign(before, rowOf(observation, context))
    departures.delete(identityId)
    collected.page.observed.set(identityId, [observation])
  }

  /** Marks a decision to be taken back. A person of the current page has none yet. */
  function withdraw(identityId: string): void {
    if (!collected.page.observed.has(identityId)) collected.page.withdrawn.add(identityId)
  }

  /** Whether, of two rows under different keys of one person, the row of the older key states a departure: only that key is given up. */
  function isKeyReplaced(before: PersonRow, observation: Observation): boolean {
    return before.keyOrder < (observation.keyOrder ?? 0)
      ? before.leaving !== false
      : leavingIn(observation, context) !== false
  }

  return {
    addFurther(before, observation) {
      const { rank, keyOrder = 0 } = observation
      if (before.isUsable && before.keyOrder !== keyOrder && isKeyReplaced(before, observation)) {
        // HR keeps rows of keys that are no longer used.
        if (before.keyOrder < keyOrder) replace(before, observation)
        else account.older++
      } else if (rank === undefined || before.rank === undefined || rank === before.rank) {
        rejectBoth(before, observation)
      } else if (rank > before.rank) {
        replace(before, observation)
      } else {
        account.older++
      }
    },
    reject({ identityId, line, mayLeave }) {
      const before = people.get(identityId)
      if (before === undefined) {
        people.set(identityId, unusableRow(line, mayLeave))
        return
      }
      rejectBefore(identityId, before, { line, rank: undefined, underTwoKeys: false })
      before.leaving = false
      departures.delete(identityId)
    },
    takePage() {
      const { withdrawn, observed } = collected.page
      collected.page = emptyPage()
      return {
        withdrawn: [...withdrawn],
        observed: [...observed].map(([identityId, observations]) => ({ identityId, observations })),
      }
    },
    observed: () => [],
  }
}

type OtherRow = { readonly line: number; readonly rank: string | undefined; readonly underTwoKeys: boolean }

type RepeatedKey = {
  readonly line: number
  readonly other: number
  readonly mayLeave: boolean
  readonly underTwoKeys: boolean
}

/** The fingerprint does not contain the line: a key that is repeated every night is the same fault. */
function repeatedKey(identityId: string, { line, other, mayLeave, underTwoKeys }: RepeatedKey): Reject {
  const reason = underTwoKeys
    ? `the person stands in this file under two keys, also in line ${other}, and an alias says that both are theirs`
    : `the key stands in this file more than once, also in line ${other}`
  return {
    line,
    column: null,
    reason,
    identityId,
    cellOnly: false,
    mayLeave,
    fingerprint: fingerprint('twice', identityId),
  }
}
