import type { Change } from '../change.ts'
import type { Origin, RosterEntry } from '../record.ts'
import type { Decision, DesiredState } from './decide.ts'
import type { Sending } from './sending.ts'
import type { Storing } from './storing.ts'

/** What is decided about one person: a new desired state, a change to send, or both. */
export type PlannedPerson = {
  readonly identityId: string
  readonly entry: DesiredState | null
  readonly change: Change | null
  readonly origin: Origin | null
  /** The entry states no more than that what the change sends was true when the source was. */
  readonly follows?: boolean
}

/** What a plan sends and stores of its decisions. */
export type PlanSteps = { readonly sending: Sending; readonly storing: Storing }

/** What follows from a decision for the plan: one person, or none where nothing is to be stored or sent. */
export function planned(
  entry: RosterEntry | undefined,
  decision: Decision,
  person: Pick<PlannedPerson, 'identityId' | 'origin'>,
  { sending, storing }: PlanSteps,
): PlannedPerson[] {
  const change = sending.changeFor(entry, decision)
  const stored = storing(entry, decision, change)
  return stored.entry || change ? [{ ...person, change, ...stored }] : []
}
