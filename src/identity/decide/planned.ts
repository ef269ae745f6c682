import type { Change } from '../change.ts'
import { sameTimes } from '../field-times.ts'
import type { Origin, RosterEntry } from '../record.ts'
import { type Decision, type PlanContext, sameHeld, type DesiredState } from './decide.ts'

/** What is decided about one person: a new desired side, a change to send, or both. */
export type PlannedPerson = {
  readonly identityId: string
  readonly entry: DesiredState | null
  readonly change: Change | null
  readonly origin: Origin | null
  /** The entry says no more than that what the change sends was true when the source was. */
  readonly follows?: boolean
}

/** What is kept and sent of the decisions of one plan. */
export type Keeping = {
  readonly context: PlanContext
  /** People without a difference are sent as well. */
  readonly everybody: boolean
  /** What the source says of all people at once is kept once for the connection, and not for each of them. */
  readonly isKeptOnce: boolean
}

/** What follows from a decision for the plan: one person, or none where nothing is to be kept or sent. */
export function planned(
  entry: RosterEntry | undefined,
  decision: Decision,
  { identityId, origin }: Pick<PlannedPerson, 'identityId' | 'origin'>,
  { context, everybody, isKeptOnce }: Keeping,
): PlannedPerson[] {
  const change = decision.change ?? (everybody ? resend(entry, decision) : null)
  const stored = isKeptOnce && !saysNews(entry, decision) ? null : decision.entry
  if (!stored && !change) return []
  const follows = isKeptOnce && stored !== null && followsFrom(change, stored, context)
  return [{ identityId, entry: stored, change, origin, follows }]
}

/** The person as desired, to be sent once more. */
function resend(entry: RosterEntry | undefined, decision: Decision): Change | null {
  const record = decision.entry?.desired ?? entry?.desired ?? null
  if (record === null || entry === undefined || entry.retracted !== null) return null
  return { kind: 'update', identityId: entry.identityId, record, fields: {}, inferred: false, carried: true }
}

/** Whether a decision says more than that the person was named, or missed, once more. */
function saysNews(entry: RosterEntry | undefined, { entry: side }: Decision): boolean {
  if (side === null) return false
  if (entry === undefined) return true
  return (
    side.desired !== entry.desired ||
    side.inferred !== entry.inferred ||
    side.deferredTo !== entry.deferredTo ||
    side.clearedDate !== entry.clearedDate ||
    side.deferredZone !== entry.deferredZone ||
    !sameHeld(side.heldDeparture, entry.heldDeparture) ||
    side.absences !== entry.absences ||
    side.exportIsSilent !== entry.exportIsSilent ||
    // The time of the export does not hold for them.
    (side.exportIsSilent && (side.asOf !== entry.asOf || !sameTimes(side.fieldTimes, entry.fieldTimes)))
  )
}

/** Whether a desired side says no more than that what a change sends was true when the source was. */
function followsFrom(change: Change | null, side: DesiredState, { asOf }: PlanContext): boolean {
  return (
    change !== null &&
    change.kind !== 'retract' &&
    side.desired === change.record &&
    side.inferred === change.inferred &&
    side.deferredTo === null &&
    side.clearedDate === null &&
    side.heldDeparture === null &&
    side.asOf === asOf &&
    side.employmentAsOf === asOf &&
    !side.exportIsSilent &&
    side.fieldTimes === null &&
    side.absences === 0
  )
}
