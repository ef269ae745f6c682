import { type KnownFaults, type UnlistedCount, valueName } from '../guards/facts.ts'
import type { Reject } from '../record.ts'

/** Maximum number of unlisted values that are named. A column that was mapped by mistake may hold a different one in each row. */
const maxUnlistedShown = 10
const maxUnlistedCounted = 1000

/** Creates counters of unreadable rows and cells. If more rows have a known fault than before, the additional ones count as new. */
export function createFaultTally(known: KnownFaults) {
  const unlisted = new Map<string, UnlistedCount>()
  const unlistedKnown = new Set<string>()
  /** How often each known fault occurred. */
  const occurrences = new Map<string, number>()
  const counts = { rejected: 0, incomplete: 0, knownFaulty: 0, unreadableKeys: 0, knownUnreadableKeys: 0 }

  /** Whether an accepted export had this fault at least as often as it has occurred so far. */
  function isKnown({ fingerprint, unlisted: value }: Reject): boolean {
    const before = known.rejects.get(fingerprint) ?? 0
    if (before > 0) {
      const times = (occurrences.get(fingerprint) ?? 0) + 1
      occurrences.set(fingerprint, times)
      if (times <= before) return true
    }
    return value !== undefined && known.values.has(valueName(value))
  }

  function countUnlisted({ unlisted: value, line }: Reject): void {
    if (value === undefined) return
    const name = valueName(value)
    const entry = unlisted.get(name)
    if (known.values.has(name)) unlistedKnown.add(name)
    else if (entry) entry.rows += 1
    else if (unlisted.size < maxUnlistedCounted) unlisted.set(name, { ...value, rows: 1, line })
  }

  return {
    /** Counts a row that cannot be used. */
    reject(reject: Reject): void {
      counts.rejected++
      const knownCount = isKnown(reject) ? 1 : 0
      counts.knownFaulty += knownCount
      if (reject.identityId === null) {
        counts.unreadableKeys++
        counts.knownUnreadableKeys += knownCount
      }
      countUnlisted(reject)
    },
    /** Counts a row by its unreadable cells. */
    incomplete(cells: readonly Reject[]): void {
      counts.incomplete++
      // `isKnown` counts occurrences, so it must be called for every cell.
      if (cells.filter(isKnown).length === cells.length) counts.knownFaulty++
      for (const cell of cells) countUnlisted(cell)
    },
    counts: counts as Readonly<typeof counts>,
    facts: () => ({
      ...counts,
      unlisted: {
        values: [...unlisted.values()].slice(0, maxUnlistedShown),
        count: unlisted.size,
        known: unlistedKnown.size,
      },
    }),
  }
}
