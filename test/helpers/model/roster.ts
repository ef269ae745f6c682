import type { Change } from '../../../src/identity/change.ts'
import type { Plan } from '../../../src/identity/plan.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'

export type Roster = ReadonlyMap<string, RosterEntry>

/**
 * The roster after an accepted plan, as the store keeps it: what HR wants moves for everybody, what the platform acknowledged
 * only for the changes that were delivered.
 */
export function applyPlan(roster: Roster, plan: Plan, delivered: (change: Change) => boolean = () => true): Roster {
  const next = new Map(roster)
  for (const [identityId, side] of plan.entries) next.set(identityId, { ...known(next, identityId), ...side })
  for (const change of plan.changes.filter(delivered)) {
    const before = known(next, change.identityId)
    const confirmed = change.kind === 'retract' ? null : { ...before.confirmed, ...change.record }
    next.set(change.identityId, { ...before, confirmed })
  }
  return next
}

function known(roster: Roster, identityId: string): RosterEntry {
  const nobody = {
    wanted: null,
    inferred: false,
    deferredTo: null,
    asOf: '',
    employmentAsOf: null,
    absences: 0,
    confirmed: null,
    retracted: null,
  }
  return roster.get(identityId) ?? { identityId, ...nobody }
}
