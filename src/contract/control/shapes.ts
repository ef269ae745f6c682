/** Re-exports the types of the control API. Other folders import them from here. */

export { ClassifiedValue, ValueMeaning } from './classified-values.ts'
export { type ConnectionStateName, connectionStates } from './connection-states.ts'
export { EventState, InboxEvent } from './events.ts'
export { BlockedPeopleCounts, ForeignTally, InDoubtCounts } from './people-counts.ts'
export { Person } from './person-shapes.ts'
export { PartSelection, PlanPart } from './plan-parts.ts'
export {
  ChangeKind,
  ChangeView,
  Counts,
  FieldChange,
  KeptPlan,
  PersonAccount,
  PersonChange,
  PersonPlan,
  PlanDocument,
  RecordView,
  RejectView,
  Verdict,
} from './plan-shapes.ts'
export { BlockedPerson, FailureView, Problem } from './problems.ts'
export {
  endedOrHeldStates,
  isEndedOrHeld,
  RevertAccount,
  Run,
  RunAccount,
  RunState,
  RunSummary,
  Verification,
} from './run-shapes.ts'
export { About, ConnectionStatus, Status } from './status.ts'
