import type { Sighting } from '../record.ts'
import { type Collected, emptyPage, type Page, type SeveralRows, type Told } from './row-book.ts'

/**
 * Rows stand in the order of their times, as events do: all rows of a person count, one after the other. They make one page, once there
 * are no more rows.
 */
export function rowsInOrder(collected: Collected): SeveralRows {
  let all: readonly Told[] = []
  return {
    meet: (_before, sighting) => collected.page.told.get(sighting.identityId)?.push(sighting),
    // An event that cannot be understood does not take the others of its person along.
    reject: () => {},
    takePage(isLast): Page {
      if (!isLast) return { withdrawn: [], told: [] }
      all = [...collected.page.told].map(([identityId, sightings]) => ({ identityId, sightings: lastKeys(sightings) }))
      collected.page = emptyPage()
      return { withdrawn: [], told: all }
    },
    told: () => all,
  }
}

/** Rows in order without those by which a former key leaves, beside a newer one that speaks of employment: the key goes, and no person. */
function lastKeys(sightings: readonly Sighting[]): readonly Sighting[] {
  if (sightings.every(({ keyOrder }) => keyOrder === sightings[0]?.keyOrder)) return sightings
  const speaking = sightings.filter((sighting) => sighting.statesEmployment || saysLeaving(sighting))
  const last = Math.max(...speaking.map(({ keyOrder = 0 }) => keyOrder))
  return sightings.filter((sighting) => !saysLeaving(sighting) || (sighting.keyOrder ?? 0) >= last)
}

/** The rows that say that a person leaves, unless a later one says that they do not. */
export function departuresOf(sightings: readonly Sighting[]): readonly Sighting[] {
  const last = sightings.findLast((sighting) => saysLeaving(sighting) || sighting.statesEmployment)
  return last !== undefined && saysLeaving(last) ? sightings.filter(saysLeaving) : []
}

function saysLeaving({ action, left, leavingDate }: Sighting): boolean {
  return action !== 'retract' && (left || typeof leavingDate === 'string')
}
