import type { Observation } from '../record.ts'
import { type Collected, emptyPage, type Page, type SeveralRows, type PersonObservations } from './row-book.ts'

/**
 * Rows stand in the order of their times, as events do: all rows of a person count, one after the other. They make one page, once there
 * are no more rows.
 */
export function rowsInOrder(collected: Collected): SeveralRows {
  let all: readonly PersonObservations[] = []
  return {
    meet: (_before, observation) => collected.page.observed.get(observation.identityId)?.push(observation),
    // An event that cannot be understood does not take the others of its person along.
    reject: () => {},
    takePage(isLast): Page {
      if (!isLast) return { withdrawn: [], observed: [] }
      all = [...collected.page.observed].map(([identityId, observations]) => ({
        identityId,
        observations: lastKeys(observations),
      }))
      collected.page = emptyPage()
      return { withdrawn: [], observed: all }
    },
    observed: () => all,
  }
}

/** Rows in order without those by which a former key leaves, beside a newer one that speaks of employment: the key goes, and no person. */
function lastKeys(observations: readonly Observation[]): readonly Observation[] {
  if (observations.every(({ keyOrder }) => keyOrder === observations[0]?.keyOrder)) return observations
  const speaking = observations.filter((observation) => observation.hasEmploymentCell || saysLeaving(observation))
  const last = Math.max(...speaking.map(({ keyOrder = 0 }) => keyOrder))
  return observations.filter((observation) => !saysLeaving(observation) || (observation.keyOrder ?? 0) >= last)
}

/** The rows that say that a person leaves, unless a later one says that they do not. */
export function departuresOf(observations: readonly Observation[]): readonly Observation[] {
  const last = observations.findLast((observation) => saysLeaving(observation) || observation.hasEmploymentCell)
  return last !== undefined && saysLeaving(last) ? observations.filter(saysLeaving) : []
}

function saysLeaving({ action, statesDeparture, leavingDate }: Observation): boolean {
  return action !== 'retract' && (statesDeparture || typeof leavingDate === 'string')
}
