import type { Reject } from '../record.ts'
import { type Contradiction, type Contradictions, contradictionReject } from './contradiction.ts'
import type { Faults, KnownFault } from './faults.ts'
import type { RowBook } from './row-book.ts'
import type { RowModel } from './row-models.ts'

type Collected = {
  readonly book: RowBook
  readonly faults: Faults
  readonly contradictions: Contradictions
  readonly rows: RowModel
}

/** Reports the rows of a source that cannot be used or contradict themselves. */
export function findingsOf({ book, faults, contradictions, rows }: Collected) {
  /** Adds to a rejected row's reason that a departure was taken from it. */
  function withDeparture(reject: Reject): Reject {
    const { identityId, cellOnly, reason } = reject
    if (identityId === null || cellOnly || !book.isDeparture(identityId)) return reject
    return {
      ...reject,
      reason: `${reason}; all of its rows say that the person has left, and nothing else of them is used`,
    }
  }

  function isBlocking({ identityId, cellOnly, line }: Reject): boolean {
    return identityId === null || !cellOnly || rows.applies(book, identityId, line)
  }

  function contradicted(): [string, Contradiction][] {
    return contradictions.all().filter(([key, { line }]) => book.isUsable(key) && rows.applies(book, key, line))
  }

  return {
    /** The number of rows that cannot be used. */
    rejected: faults.rejected,
    /** The first rejects and the first of each event, in the order of the rows. */
    rejects: (): readonly Reject[] => (book.hasDepartures() ? faults.first.map(withDeparture) : faults.first),
    /** The different rejects that the next plan can recognise. Complete after the last row. */
    knownFaults: (): KnownFault[] => [
      ...faults
        .different()
        .map(({ reject, times }) => ({ ...withDeparture(reject), times, isBlocking: isBlocking(reject) })),
      ...contradicted().map(([key, contradiction]) => ({
        ...contradictionReject(key, contradiction),
        times: 1,
        isBlocking: true,
      })),
    ],
    /** The people with a contradiction in the row that applies. Complete after the last row. */
    contradicted,
  }
}
