import type { Verdict } from '../../identity/change.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import type { HeldPart } from '../../store/plans/held-part.ts'
import type { PlanSummary } from '../../store/plans/plans.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import type { Db, RunAccount } from '../../store/schema.ts'
import type { Intake } from '../../store/statement/intake.ts'
import type { SealedIndex } from './change-filter/index-parts.ts'
import type { ReadOutcome } from './judge-plan.ts'
import type { PlanInputs } from './plan-inputs.ts'
import { collectWarnings } from './warnings.ts'

/** A plan whose changes are staged, and what else its run stores with it. */
export type PreparedPlan = Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & {
  /** The people of an event run who were split off into a held plan of their own; null if there are none. */
  readonly heldPart: HeldPart | null
  /** The index for the next export; `same`: the last one is still right; null or left out: none. */
  readonly index?: SealedIndex | 'same' | null
  /** What the export held, counted independently of the plan; null or left out: there was no new export. */
  readonly intake?: Intake | null
  /** What a run that a person requested for named people tells them. */
  readonly account?: RunAccount
}

type SummaryInput = {
  readonly inputs: PlanInputs
  readonly outcome: ReadOutcome
  readonly verdicts: readonly Verdict[]
  readonly keyChanges: readonly KeyChangeCandidate[]
  /** The digest of the staged changes. */
  readonly digest: string
}

/** Sums up a plan of which nothing is split off and nothing waits for a later day. */
export async function summarizePlan(
  db: Db,
  connection: string,
  { inputs, outcome, verdicts, keyChanges, digest }: SummaryInput,
): Promise<PreparedPlan> {
  const { reading, mapping } = inputs
  const { decider, rows, source, fields } = outcome
  const { employed: _, ...known } = outcome.known
  return {
    mode: reading.mode,
    source,
    asOf: reading.asOf,
    rows,
    records: decider.book.counts.records,
    counts: decider.counts(),
    people: decider.people(),
    known,
    guards: verdicts,
    pairs: keyChanges,
    digest,
    fields,
    endKeys: await endKeys(db, connection, decider),
    warnings: collectWarnings(reading, mapping, decider),
    rejects: decider.rejects().toSorted((a, b) => a.line - b.line),
    heldPart: null,
    faults: null,
    overtaken: decider.overtaken,
    heldAgain: decider.heldAgain(),
  }
}

async function endKeys(db: Db, connection: string, decider: Decider): Promise<readonly string[]> {
  return decider.lastEmployedKeys(await rosterEntries(db, { connection, identityIds: decider.lastUnusableKeys() }))
}
