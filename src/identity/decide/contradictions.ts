import type { RosterEntry, Observation } from '../record.ts'
import { type Contradiction, contradictionIn } from './contradiction.ts'
import type { Decision, PlanContext } from './decide.ts'
import { maxKnownFaults } from './faults.ts'

export type Contradictions = ReturnType<typeof noteContradictions>

/** Notes of whom the row that counts says "employed", while their leaving date has come. */
export function noteContradictions(context: PlanContext) {
  const found = new Map<string, Contradiction>()
  return {
    /** The row that counts for a person; null: what counts is no row, as it was rejected. */
    note(identityId: string, counts: Observation | null, entry: RosterEntry | undefined, decision: Decision): void {
      const known = { desired: (decision.entry ?? entry)?.desired ?? null, retracted: entry?.retracted ?? null }
      const contradiction = counts === null ? null : contradictionIn(counts, known, context)
      if (contradiction === null) found.delete(identityId)
      else if (found.size < maxKnownFaults) found.set(identityId, contradiction)
    },
    all: (): [string, Contradiction][] => [...found],
  }
}
