import type { Workers } from '../queue/jobs.ts'
import type { SyncContext } from './context/context.ts'
import { deliver } from './deliver/deliver.ts'
import { executeRun } from './run/run.ts'

export type { SyncContext } from './context/context.ts'
export { enqueueDue } from './context/enqueue.ts'
export { compareDirectories, compareDirectory, compareGivenAccounts } from './effective/directories.ts'
export { type ComparisonResult, compareEffective } from './effective/effective.ts'
export { fixEffective } from './effective/fix.ts'
export { type AccountList, readAccounts } from './effective/read-accounts.ts'
export { type PlanDocument, planDryRun } from './plan/dry-run.ts'
export { planPersonDryRun } from './plan/dry-run-person.ts'
export { mainFeed } from './plan/feeds.ts'
export { heldPlan } from './plan/held-plan.ts'
export { type Preview, planReading } from './plan/preview-plan.ts'
export { approveRun, hasMovedBasis, rejectRun } from './requests/approvals.ts'
export { previewPart } from './requests/approve-part.ts'
export { requestPerson } from './requests/person-runs.ts'
export {
  cancelRun,
  classifyValue,
  requestRun,
  restorePerson,
  retractPerson,
  unblock,
} from './requests/requests.ts'
export { requestRevert } from './requests/reverts.ts'
export { requestSeparation } from './requests/separations.ts'
export { requestDueRuns } from './run/due-runs.ts'
export { requestEventRuns } from './run/event-runs.ts'
export { makeOwedStatements } from './run/owed-statements.ts'
export { sweep } from './run/sweep.ts'
export { lookUpTarget } from './target/target.ts'
export { verifyPeopleInDoubt } from './verify/in-doubt.ts'
export { verifyLeavers } from './verify/leavers.ts'

/** What the queue's jobs do. */
export const syncWorkers: Workers<SyncContext> = {
  run: executeRun,
  upsert: deliver,
  update: deliver,
  delete: deliver,
  session: deliver,
}
