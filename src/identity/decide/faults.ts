import type { Reject } from '../record.ts'
import type { Tally } from './tally.ts'

/** A reject, as stored to recognise it in the next export. */
export type KnownFault = Reject & {
  /** How many rows have this fault. */
  readonly times: number
  /** Whether the fault blocks the person, or the row of an unknown person. False if a newer row of the person applies. */
  readonly isBlocking: boolean
}

/** Maximum number of different faults of one source that are remembered. Any other counts as new each time. */
export const maxKnownFaults = 100_000

/** The faults of one source so far. */
export type Faults = ReturnType<typeof keepFaults>

/**
 * Collects rejects: the first ones, and the number of rows with each different fault. `rejectsKept`: maximum number of rejects that are
 * kept, besides the first of each event. All of them are counted.
 */
export function keepFaults(tally: Tally, rejectsKept: number) {
  const kept: Reject[] = []
  /** The index in `kept` of the first reject of each event. */
  const firstOfEvents = new Map<string, number>()
  const byFingerprint = new Map<string, { reject: Reject; times: number }>()
  let rejected = 0

  function keep(reject: Reject): void {
    // The first reject of each event is always kept, because an event without any counts as understood.
    const first = reject.event === undefined ? undefined : firstOfEvents.get(reject.event)
    const isFirstOfEvent = reject.event !== undefined && first === undefined
    if (isFirstOfEvent) firstOfEvents.set(reject.event, kept.length)
    if (isFirstOfEvent || kept.length < rejectsKept) kept.push(reject)
    else if (first !== undefined) hastenFirst(first, reject)
    const before = byFingerprint.get(reject.fingerprint)
    if (before) {
      before.times++
      // One row that may state a departure is enough.
      if (reject.mayLeave) before.reject = { ...before.reject, mayLeave: true }
    } else if (byFingerprint.size < maxKnownFaults) byFingerprint.set(reject.fingerprint, { reject, times: 1 })
  }

  /** Moves the retry of an event to the earliest time of its rejects, including those that are not kept. */
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
    /** The first rejects and the first of each event, in order. */
    first: kept as readonly Reject[],
    /** The different rejects that are remembered, with the number of rows of each. */
    different: (): readonly { readonly reject: Reject; readonly times: number }[] => [...byFingerprint.values()],
  }
}
