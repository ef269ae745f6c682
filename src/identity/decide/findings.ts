import type { Reject } from '../record.ts'
import { type Contradiction, contradictionReject } from './contradiction.ts'
import type { Contradictions } from './contradictions.ts'
import type { Faults, KnownFault } from './faults.ts'
import type { RowBook } from './row-book.ts'

type Found = {
  readonly book: RowBook
  readonly faults: Faults
  readonly contradictions: Contradictions
  /** Rows stand in the order of their times, so that all rows of a person count. */
  readonly inOrder: boolean
}

/** What an operator is told of the rows of a source that cannot be used, or contradict themselves. */
export function findingsOf({ book, faults, contradictions, inOrder }: Found) {
  /** Says of a rejected row also that a departure was taken from it. */
  function withDeparture(reject: Reject): Reject {
    const { identityId, cellOnly, reason } = reject
    if (identityId === null || cellOnly || !book.isDeparture(identityId)) return reject
    return {
      ...reject,
      reason: `${reason}; all of its rows say that the person has left, and nothing else of them counts`,
    }
  }

  function isBlocking({ identityId, cellOnly, line }: Reject): boolean {
    return identityId === null || !cellOnly || inOrder || book.lineOf(identityId) === line
  }

  function contradicted(): [string, Contradiction][] {
    return contradictions
      .all()
      .filter(([key, { line }]) => book.isUsable(key) && (inOrder || book.lineOf(key) === line))
  }

  return {
    rejected: faults.rejected,
    /** The first rejects and the first of each event, in the order in which they were found. */
    rejects: (): readonly Reject[] => (book.hasDepartures() ? faults.first.map(withDeparture) : faults.first),
    /** The different rejects, as far as they are known again. Complete once there are no more rows. */
    knownFaults: (): KnownFault[] => [
      ...faults
        .different()
        .map(({ reject, times }) => ({ ...withDeparture(reject), times, isBlocking: isBlocking(reject) })),
      ...contradicted().map(([key, found]) => ({ ...contradictionReject(key, found), times: 1, isBlocking: true })),
    ],
    /** The people whose rows that count contradict themselves. Complete once there are no more rows. */
    contradicted,
  }
}
