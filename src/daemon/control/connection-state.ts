import type { Alert } from '../../contract/control/alerts.ts'
import { type ConnectionStateName, concernsSync } from '../../contract/control/connection-states.ts'
import type { ConnectionStatus } from '../../contract/control/shapes.ts'
import type { CurrentRunStates } from '../../store/runs/runs.ts'

/** What the state of a connection follows from. `alerts`: those of the connection. */
export type StateFacts = Pick<
  ConnectionStatus,
  'blocked' | 'paused' | 'problems' | 'blockedPeople' | 'foreign' | 'leftOut' | 'inbox' | 'people' | 'inDoubt'
> & { readonly runs: CurrentRunStates; readonly alerts: readonly Pick<Alert, 'kind'>[] }

/** The state of a connection: in sync only if nothing waits, nobody differs and no alert is open. */
export function stateOf({ runs: { active, last }, ...facts }: StateFacts): ConnectionStateName {
  if (facts.blocked) return 'blocked'
  if (active) return activeStateOf(active.state)
  if (facts.paused) return 'paused'
  if (last === null) return 'new'
  if (last.state === 'failed' || last.state === 'rejected' || last.state === 'cancelled') return last.state
  return stateOfPeople(facts)
}

function activeStateOf(state: string): ConnectionStateName {
  switch (state) {
    case 'reading':
    case 'planned':
    case 'held':
    case 'delivering':
      return state
    default:
      return 'waiting'
  }
}

function stateOfPeople(facts: Omit<StateFacts, 'runs'>): ConnectionStateName {
  const { problems, blockedPeople, foreign, leftOut, inbox, people, inDoubt, alerts } = facts
  const trouble =
    problems.refused.people +
    problems.undelivered.people +
    blockedPeople.people +
    blockedPeople.rows +
    foreign.people +
    (leftOut?.people ?? 0) +
    (inbox?.rejected ?? 0)
  if (trouble > 0) return 'problems'
  if (people.due > 0 || (inbox !== null && inbox.pending > 0)) return 'pending'
  if (inDoubt !== null) return 'inDoubt'
  // A source may have failed though a run of events that came later ended well.
  return alerts.some(({ kind }) => concernsSync(kind)) ? 'problems' : 'inSync'
}
