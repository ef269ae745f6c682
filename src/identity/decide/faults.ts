import type { Reject } from '../record.ts'
import type { Tally } from './tally.ts'

/** A reject as it is known again in the next export. */
export type KnownFault = Reject & {
  /** How many rows have this fault. */
  readonly times: number
  /** Whether the fault blocks the person, or the row of an unknown person. False if a newer row of the person applies. */
  readonly isBlocking: boolean
}

/** How many different faults of one source are known again; what is beyond counts as new each time. */
export const maxKnownFaults = 100_000

/** The faults of one source so far. */
export type Faults = ReturnType<typeof keepFaults>

/**
 * Keeps what could not be read: the first rejects one by one, and how often each different fault was met. `rejectsKept`: how many are kept
 * one by one, besides the first of each event; all of them are counted.
 */
export function keepFaults(tally: Tally, rejectsKept: number) {
  const kept: Reject[] = []
  /** Where in `kept` the first one of each event is. */
  const firstOfEvents = new Map<string, number>()
  const byFingerprint = new Map<string, { reject: Reject; times: number }>()
  let rejected = 0

  function keep(reject: Reject): void {
    // Of each event the first is kept, however many there are: an event without one counts as understood.
    const first = reject.event === undefined ? undefined : firstOfEvents.get(reject.event)
    const isFirstOfEvent = reject.event !== undefined && first === undefined
    if (isFirstOfEvent) firstOfEvents.set(reject.event, kept.length)
    if (isFirstOfEvent || kept.length < rejectsKept) kept.push(reject)
    else if (first !== undefined) hastenFirst(first, reject)
    const before = byFingerprint.get(reject.fingerprint)
    if (before) {
      before.times++
      // Of several rows with this fault, one that may say that the person has left is enough.
      if (reject.mayLeave) before.reject = { ...before.reject, mayLeave: true }
    } else if (byFingerprint.size < maxKnownFaults) byFingerprint.set(reject.fingerprint, { reject, times: 1 })
  }

  /** An event is read again at the earliest time that one of its rejects names, also if that one is not kept. */
  function hastenFirst(at: number, { retryAt }: Reject): void {
    const first = kept[at]
    if (first === undefined || retryAt === undefined) return
    const isEarlier = first.retryAt === undefined || Date.parse(retryAt) < Date.parse(first.retryAt)
    if (isEarlier) kept[at] = { ...first, retryAt }
  }

  return {
    /** A row cannot be used. */
    add(reject: Reject): void {
      rejected++
      tally.reject(reject)
      keep(reject)
    },
    /** Cells of one row cannot be read. */
    addCells(cells: readonly Reject[]): void {
      tally.incomplete(cells)
      for (const cell of cells) keep(cell)
    },
    /** The number of rows that cannot be used. */
    rejected: (): number => rejected,
    /** The first rejects and the first of each event, in the order in which they were found. */
    first: kept as readonly Reject[],
    /** The different rejects, as far as they are known again, with how many rows have each. */
    different: (): readonly { readonly reject: Reject; readonly times: number }[] => [...byFingerprint.values()],
  }
}
