import type { Workers } from '../queue/jobs.ts'
import type { SyncContext } from './context/context.ts'
import { deliver } from './deliver/deliver.ts'
import { executeRun } from './run/run.ts'

export type { YieldToShortWork as GiveWay, SyncContext } from './context/context.ts'
export { enqueueDue } from './context/enqueue.ts'
export { lookUpTarget } from './deliver/target.ts'
export { mainFeed } from './plan/feeds.ts'
export { type PlanDocument, planOnly } from './plan/plan-only.ts'
export { planPerson } from './plan/plan-person.ts'
export { type Preview as Glance, planReading } from './plan/plan-reading.ts'
export { approveRun, hasMovedBasis, rejectRun } from './requests/approvals.ts'
export { requestPerson } from './requests/person-runs.ts'
export {
  cancelRun,
  classValue,
  requestRun,
  restorePerson,
  retractPerson,
  unblock,
} from './requests/requests.ts'
export { requestRevert } from './requests/reverts.ts'
export { requestSeparation } from './requests/separations.ts'
export { requestDueRuns } from './run/due-runs.ts'
export { requestEventRuns } from './run/event-runs.ts'
export { sweep } from './run/sweep.ts'
export { readBackLeavers } from './verify/effective.ts'
export { verifyPeopleInDoubt as readBackInDoubt } from './verify/in-doubt.ts'

/** What the queue's jobs do. */
export const syncWorkers: Workers<SyncContext> = {
  run: executeRun,
  upsert: deliver,
  update: deliver,
  delete: deliver,
  session: deliver,
}
