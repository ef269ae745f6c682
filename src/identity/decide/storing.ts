import type { Change } from '../change.ts'
import { sameTimes } from '../field-times.ts'
import type { RosterEntry } from '../record.ts'
import { coversEverybody } from './coverage.ts'
import { type Decision, type DesiredState, type PlanContext, sameGroup, sameHeld } from './decide.ts'

/** Decides what a plan stores of a decision. */
export type Storing = (
  entry: RosterEntry | undefined,
  decision: Decision,
  change: Change | null,
) => {
  readonly entry: DesiredState | null
  /** The entry follows from the change and the time of the source. */
  readonly follows: boolean
}

/** How a plan stores its decisions: a snapshot of everybody once for the connection, everything else person by person. */
export function storingFor(context: PlanContext): Storing {
  return coversEverybody(context) ? storeNews(context) : storeEach
}

/** Stores the whole desired state of each person. */
export const storeEach: Storing = (_entry, { entry }) => ({ entry, follows: false })

/** Stores only what differs from the facts that the snapshot states about everybody. */
function storeNews(context: PlanContext): Storing {
  return (entry, decision, change) => {
    const stored = saysNews(entry, decision) ? decision.entry : null
    return { entry: stored, follows: stored !== null && followsFrom(change, stored, context) }
  }
}

/** Whether a decision changes more than the time at which the person was last named or absent. */
function saysNews(entry: RosterEntry | undefined, { entry: state }: Decision): boolean {
  if (state === null) return false
  if (entry === undefined) return true
  return (
    state.desired !== entry.desired ||
    state.inferred !== entry.inferred ||
    state.deferredTo !== entry.deferredTo ||
    state.clearedDate !== entry.clearedDate ||
    state.deferredZone !== entry.deferredZone ||
    !sameHeld(state.heldDeparture, entry.heldDeparture) ||
    state.isByOperator !== entry.isByOperator ||
    state.absences !== entry.absences ||
    state.exportIsSilent !== entry.exportIsSilent ||
    !sameGroup(state, entry) ||
    // The time of the export does not apply to these people.
    (state.exportIsSilent && (state.asOf !== entry.asOf || !sameTimes(state.fieldTimes, entry.fieldTimes)))
  )
}

/** Whether a desired state follows from a change and the time of the source. */
function followsFrom(change: Change | null, state: DesiredState, { asOf }: PlanContext): boolean {
  return (
    change !== null &&
    change.kind !== 'retract' &&
    state.desired === change.record &&
    state.inferred === change.inferred &&
    state.deferredTo === null &&
    state.clearedDate === null &&
    state.heldDeparture === null &&
    !state.isByOperator &&
    state.asOf === asOf &&
    state.employmentAsOf === asOf &&
    !state.exportIsSilent &&
    state.fieldTimes === null &&
    state.absences === 0
  )
}
