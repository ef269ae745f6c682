import type { Observation } from '../record.ts'
import { type Collected, emptyPage, type Page, type PersonObservations, type SeveralRows } from './row-book.ts'

/**
 * Rows in the order of their times, such as events: all rows of a person apply, one after the other. They form one page after the last
 * row.
 */
export function rowsInOrder(collected: Collected): SeveralRows {
  let all: readonly PersonObservations[] = []
  return {
    addFurther(_earlier, observation) {
      collected.counts.further++
      collected.page.observed.get(observation.identityId)?.push(observation)
    },
    // An unreadable event does not affect the other events of its person.
    reject: () => {},
    takePage(isLast): Page {
      if (!isLast) return { withdrawn: [], observed: [] }
      all = [...collected.page.observed].map(([identityId, observations]) => ({
        identityId,
        observations: withoutReplacedKeys(observations),
      }))
      collected.page = emptyPage()
      return { withdrawn: [], observed: all }
    },
    observed: () => all,
  }
}

/** Drops rows with the departure of an older key if a row of a newer key states employment: only the key is given up. */
function withoutReplacedKeys(observations: readonly Observation[]): readonly Observation[] {
  if (observations.every(({ keyOrder }) => keyOrder === observations[0]?.keyOrder)) return observations
  const ofEmployment = observations.filter((observation) => observation.hasEmploymentCell || isDeparture(observation))
  const newest = Math.max(...ofEmployment.map(({ keyOrder = 0 }) => keyOrder))
  return observations.filter((observation) => !isDeparture(observation) || (observation.keyOrder ?? 0) >= newest)
}

/** The rows that state a departure, unless a later row states that the person stays. */
export function departuresOf(observations: readonly Observation[]): readonly Observation[] {
  const last = observations.findLast((observation) => isDeparture(observation) || observation.hasEmploymentCell)
  return last !== undefined && isDeparture(last) ? observations.filter(isDeparture) : []
}

function isDeparture({ action, statesDeparture, leavingDate }: Observation): boolean {
  return action !== 'retract' && (statesDeparture || typeof leavingDate === 'string')
}
