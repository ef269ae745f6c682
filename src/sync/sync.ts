import type { Workers } from '../queue/jobs.ts'
import type { SyncContext } from './context.ts'
import { deliver } from './deliver/deliver.ts'
import { executeRun } from './run.ts'

export { approveRun, hasMovedBasis, rejectRun } from './approvals.ts'
export type { GiveWay, SyncContext } from './context.ts'
export { lookUpTarget } from './deliver/target.ts'
export { enqueueDue } from './enqueue.ts'
export { requestPerson } from './person-runs.ts'
export { requestDueRuns } from './plan/due-runs.ts'
export { requestEventRuns } from './plan/event-runs.ts'
export { mainFeed } from './plan/feeds.ts'
export { type PlanDocument, planOnly } from './plan/plan-only.ts'
export { planPerson } from './plan/plan-person.ts'
export { type Glance, planReading } from './plan/plan-reading.ts'
export { readBackLeavers } from './repair/effective.ts'
export { readBackInDoubt } from './repair/in-doubt.ts'
export {
  cancelRun,
  classValue,
  requestRun,
  restorePerson,
  retractPerson,
  unblock,
} from './requests.ts'
export { requestRevert } from './reverts.ts'
export { requestSeparation } from './separations.ts'
export { sweep } from './sweep.ts'

/** What the queue's jobs do. */
export const syncWorkers: Workers<SyncContext> = {
  run: executeRun,
  upsert: deliver,
  update: deliver,
  delete: deliver,
  session: deliver,
}
