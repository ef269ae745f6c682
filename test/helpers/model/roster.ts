import type { Change } from '../../../src/identity/change.ts'
import { timesSpokenOf } from '../../../src/identity/field-times.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'
import type { Plan } from './plan.ts'

export type Roster = ReadonlyMap<string, RosterEntry>

/** What applying a plan needs of it. */
type Applied = Pick<Plan, 'changes' | 'entries' | 'spokenAsOf'>

/**
 * The roster after an accepted plan, as the store keeps it: what HR wants moves for everybody, what the platform acknowledged
 * only for the changes that were delivered. An export that speaks of everybody is newer than older facts about all
 * of them, but for the people of whom it says nothing.
 */
export function applyPlan(roster: Roster, plan: Applied, delivered: (change: Change) => boolean = () => true): Roster {
  const next = new Map(roster)
  for (const [identityId, side] of plan.entries) next.set(identityId, { ...known(next, identityId), ...side })
  for (const change of plan.changes.filter(delivered)) {
    const before = known(next, change.identityId)
    const confirmed = change.kind === 'retract' ? null : { ...before.confirmed, ...change.record }
    next.set(change.identityId, { ...before, confirmed })
  }
  const { spokenAsOf } = plan
  if (spokenAsOf === null) return next
  return new Map([...next].map(([identityId, entry]) => [identityId, spokenOf(entry, spokenAsOf)]))
}

function spokenOf(entry: RosterEntry, asOf: string): RosterEntry {
  if (entry.exportIsSilent) return entry
  return { ...entry, ...timesSpokenOf(entry, asOf), employmentAsOf: later(entry.employmentAsOf ?? asOf, asOf) }
}

function later(a: string, b: string): string {
  return Temporal.Instant.compare(a, b) < 0 ? b : a
}

function known(roster: Roster, identityId: string): RosterEntry {
  const nobody = {
    desired: null,
    inferred: false,
    deferredTo: null,
    clearedDate: null,
    deferredZone: null,
    heldDeparture: null,
    heldBackUntil: null,
    statedDeparture: null,
    isByOperator: false,
    asOf: '',
    employmentAsOf: null,
    exportIsSilent: false,
    fieldTimes: null,
    absences: 0,
    confirmed: null,
    retracted: null,
  }
  return roster.get(identityId) ?? { identityId, ...nobody }
}
