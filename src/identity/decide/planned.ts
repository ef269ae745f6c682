import type { Change } from '../change.ts'
import type { Origin, RosterEntry } from '../record.ts'
import type { Decision, DesiredState } from './decide.ts'
import type { Sending } from './sending.ts'
import type { Storing } from './storing.ts'

/** One person in a plan: a new desired state, a change to send, or both. */
export type PlannedPerson = {
  readonly identityId: string
  readonly entry: DesiredState | null
  readonly change: Change | null
  readonly origin: Origin | null
  /** The entry follows from the change and the time of the source. */
  readonly follows?: boolean
  /** The group of the person once the plan is accepted; left out: that of the entry. */
  readonly group?: string | null
}

/** How a plan sends and stores its decisions. */
export type PlanSteps = { readonly sending: Sending; readonly storing: Storing }

/** The person in the plan that follows from a decision; none if nothing is to be stored or sent. */
export function planned(
  entry: RosterEntry | undefined,
  decision: Decision,
  person: Pick<PlannedPerson, 'identityId' | 'origin'>,
  { sending, storing }: PlanSteps,
): PlannedPerson[] {
  const change = sending.changeFor(entry, decision)
  const stored = storing(entry, decision, change)
  if (!stored.entry && !change) return []
  const { group = null } = decision.entry ?? entry ?? {}
  return [{ ...person, change, ...stored, ...(group !== null && { group }) }]
}
