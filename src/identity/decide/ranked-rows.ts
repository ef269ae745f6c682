import { fingerprint } from '../digest.ts'
import type { Observation, Reject } from '../record.ts'
import type { PlanContext } from './decide.ts'
import { bothLeave, leavingIn, observationOf } from './departure.ts'
import type { Faults } from './faults.ts'
import { type Collected, emptyPage, type PersonRow, rowOf, type SeveralRows, unusableRow } from './row-book.ts'

/**
 * Applies the row with the highest rank of each person. Several rows without a rank, or with the same rank, are rejected; a departure that
 * all of them state still applies.
 */
export function rankedRows(
  collected: Collected,
  { context, faults }: { readonly context: PlanContext; readonly faults: Faults },
): SeveralRows {
  const { people, departures, counts } = collected

  function addOlder(): void {
    counts.older++
    counts.further++
  }

  /** Rejects the row that applied so far, because another row contradicts it. If that one has no rank, no later row outranks the two. */
  function rejectEarlier(identityId: string, earlier: PersonRow, other: OtherRow): void {
    if (other.rank === undefined) earlier.rank = undefined
    if (!earlier.isUsable) return
    counts.records--
    counts.further++
    withdraw(identityId)
    collected.page.observed.delete(identityId)
    earlier.isUsable = false
    faults.add(
      repeatedKey(identityId, { ...other, line: earlier.line, other: other.line, mayLeave: earlier.leaving !== false }),
    )
  }

  /** Rejects two rows of a person, because neither outranks the other. Only a departure that both state applies. */
  function rejectBoth(earlier: PersonRow, observation: Observation): void {
    const { identityId, rank, origin } = observation
    const { line } = origin
    const leaving = leavingIn(observation, context)
    const departure = rank === earlier.rank ? bothLeave(earlier.leaving, leaving, context) : null
    counts.further++
    const underTwoKeys = earlier.keyOrder !== (observation.keyOrder ?? 0)
    rejectEarlier(identityId, earlier, { line, rank, underTwoKeys })
    faults.add(repeatedKey(identityId, { line, other: earlier.line, mayLeave: leaving !== false, underTwoKeys }))
    earlier.leaving = departure ?? false
    if (departure) departures.set(identityId, observationOf(departure, { identityId, origin }))
    else departures.delete(identityId)
  }

  function replace(earlier: PersonRow, observation: Observation): void {
    const { identityId } = observation
    if (earlier.isUsable) {
      addOlder()
      withdraw(identityId)
    } else {
      counts.records++
    }
    Object.assign(earlier, rowOf(observation, context))
    departures.delete(identityId)
    collected.page.observed.set(identityId, [observation])
  }

  /** Marks the decision about a person to be discarded. A person of the current page has none yet. */
  function withdraw(identityId: string): void {
    if (!collected.page.observed.has(identityId)) collected.page.withdrawn.add(identityId)
  }

  /** Of two rows under different keys of one person: whether the older key's row may state a departure. Then only the key has ended. */
  function isKeyReplaced(earlier: PersonRow, observation: Observation): boolean {
    return earlier.keyOrder < (observation.keyOrder ?? 0)
      ? earlier.leaving !== false
      : leavingIn(observation, context) !== false
  }

  return {
    addFurther(earlier, observation) {
      const { rank, keyOrder = 0 } = observation
      if (earlier.isUsable && earlier.keyOrder !== keyOrder && isKeyReplaced(earlier, observation)) {
        // HR keeps the rows of former keys, marked as left: the row with the newer key applies.
        if (earlier.keyOrder < keyOrder) replace(earlier, observation)
        else addOlder()
      } else if (rank === undefined || earlier.rank === undefined || rank === earlier.rank) {
        rejectBoth(earlier, observation)
      } else if (rank > earlier.rank) {
        replace(earlier, observation)
      } else {
        addOlder()
      }
    },
    reject({ identityId, line, mayLeave }) {
      const earlier = people.get(identityId)
      if (earlier === undefined) {
        people.set(identityId, unusableRow(line, mayLeave))
        return
      }
      rejectEarlier(identityId, earlier, { line, rank: undefined, underTwoKeys: false })
      earlier.leaving = false
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
    cause: underTwoKeys ? 'twoKeys' : 'repeatedKey',
    identityId,
    cellOnly: false,
    mayLeave,
    fingerprint: fingerprint('twice', identityId),
  }
}
