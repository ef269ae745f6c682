import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { Alert, AlertChannel, AlertTest } from './alerts.ts'
import { AuditKeyReplaced, AuditVerification } from './audit.ts'
import { diagnosisOperations } from './diagnosis.ts'
import { firstVisitOperations } from './first-visit.ts'
import { foreignOperations } from './foreign.ts'
import { historyOperations } from './history.ts'
import { holdBackOperations } from './hold-backs.ts'
import { keyOperations } from './keys.ts'
import { Leaver, LeaverPack, LeaverReport } from './leavers.ts'
import { After, Limit, page, Search } from './lists.ts'
import { pauseOperations } from './pauses.ts'
import { peopleOperations } from './people.ts'
import { PersonText, planOperations, Values } from './plans.ts'
import { runNameOperations } from './run-names.ts'
import { scheduleOperations } from './schedules.ts'
import { settingsOperations } from './settings.ts'
import {
  About,
  BlockedPerson,
  ChangeKind,
  ChangeView,
  ClassifiedValue,
  EventState,
  FailureView,
  InboxEvent,
  KeptPlan,
  Person,
  Problem,
  RejectView,
  Run,
  RunAccount,
  RunState,
  RunSummary,
  Status,
  ValueMeaning,
} from './shapes.ts'
import { sourceOperations } from './sources.ts'
import { storeOperations } from './store.ts'
import { tokenOperations } from './tokens.ts'
import { trailOperations } from './trail.ts'

/** Where the control API is mounted. */
export const controlPrefix = '/api/v1'

const ofConnection = z.object({ connection: z.string() })
const ofPerson = z.object({ connection: z.string(), identityId: z.string() })
const ofRun = z.object({ runId: z.uuid() })
const Because = z.string().trim().min(1).max(500).optional().describe('Why, for the record.')
const OfConnection = z
  .string()
  .optional()
  .describe('The connection that the person takes the run to be of. Another one is refused.')

const ofPeriod = {
  from: z.iso.date().describe('The first day of the period.'),
  to: z.iso.date().describe('The last day of it.'),
  connection: z.string().optional().describe('Of this connection only.'),
}

const EventIds = z
  .array(z.string().regex(/^\d{1,18}$/))
  .min(1)
  .max(1000)
const Affected = z.object({ events: z.number().int().min(0) })
const Unblocked = z.object({
  wasBlocked: z.boolean(),
  due: z.number().int().min(0).describe('How many people wait to be delivered.'),
})

/** The operations of the daemon: the only way in for the console, and for the commands while a daemon runs. */
export const control = operations({
  ...keyOperations,
  ...foreignOperations,
  ...holdBackOperations,
  ...pauseOperations,
  ...storeOperations,
  ...peopleOperations,
  ...scheduleOperations,
  ...sourceOperations,
  ...trailOperations,
  ...tokenOperations,
  ...historyOperations,
  ...runNameOperations,
  ...diagnosisOperations,
  ...settingsOperations,
  ...firstVisitOperations,
  about: {
    method: 'GET',
    path: '/about',
    permission: 'viewer',
    summary: 'What runs here. It is answered without a look into the store.',
    success: { 200: About },
    errors: [401, 500],
  },
  status: {
    method: 'GET',
    path: '/status',
    permission: 'viewer',
    summary: 'What runs here, and how every connection stands.',
    success: { 200: Status },
    errors: [401, 500, 503],
  },
  listAlerts: {
    method: 'GET',
    path: '/alerts',
    permission: 'viewer',
    summary: 'What needs the attention of a person now, what was sent about it, and where alerts go.',
    success: { 200: z.object({ data: z.array(Alert), channels: z.array(AlertChannel) }) },
    errors: [401, 500, 503],
  },
  testAlerts: {
    method: 'POST',
    path: '/alerts/test',
    permission: 'operator',
    summary: 'Send a test message now through one channel, or through each.',
    body: z.strictObject({ channel: z.string().optional() }),
    success: { 200: z.object({ data: z.array(AlertTest) }) },
    errors: [400, 401, 403, 404, 500],
  },
  listRuns: {
    method: 'GET',
    path: '/runs',
    permission: 'viewer',
    summary: 'The newest runs first.',
    query: z.object({
      connection: z.string().optional(),
      state: z.array(RunState).min(1).optional().describe('In one of these states.'),
      trigger: z.array(Run.shape.trigger).min(1).optional().describe('That one of these made happen.'),
      after: After,
      limit: Limit.default(50),
    }),
    success: { 200: page(Run, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  getRun: {
    method: 'GET',
    path: '/runs/:runId',
    permission: 'viewer',
    summary: 'One run, with its counts and the verdicts of the guards.',
    params: ofRun,
    success: { 200: Run },
    errors: [400, 401, 404, 500, 503],
  },
  listChanges: {
    method: 'GET',
    path: '/runs/:runId/changes',
    permission: 'viewer',
    summary: 'The changes of a run by key: all of them, those of one kind, or those of some people.',
    description:
      'A search finds people by the beginning of their key and, with `values`, of their e-mail address or a part of their name; those whose key begins so come first. Its pages may hold fewer changes than asked for, also none, and still have a `next`: so many were looked through.',
    params: ofRun,
    query: z.object({
      kind: ChangeKind.optional(),
      search: Search.optional(),
      after: After,
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(ChangeView, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  summarizeRun: {
    method: 'GET',
    path: '/runs/:runId/summary',
    permission: 'viewer',
    summary: 'What the plan of a run does by field and by manager, for a plan that is too large to be read by person.',
    params: ofRun,
    query: z.object({ values: Values }),
    success: { 200: RunSummary },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listRejects: {
    method: 'GET',
    path: '/runs/:runId/rejects',
    permission: 'viewer',
    summary: 'The rows of the source that could not become a record, by line.',
    params: ofRun,
    query: z.object({ after: After, limit: Limit.default(500) }),
    success: { 200: page(RejectView, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  startRun: {
    method: 'POST',
    path: '/connections/:connection/runs',
    permission: 'operator',
    summary: 'Ask for a run; while another one is active, the request joins the one that waits.',
    params: ofConnection,
    body: z.strictObject({
      full: z.boolean().optional(),
      verify: z.boolean().optional(),
      person: PersonText.optional().describe(
        'Read the source for this one person, by key or e-mail address, and deliver no one else. It goes with no other option.',
      ),
      plan: KeptPlan.optional().describe('The run fails unless it comes to exactly this plan.'),
      by: By,
    }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  ...planOperations,
  runAccount: {
    method: 'GET',
    path: '/runs/:runId/account',
    permission: 'viewer',
    summary: 'What a run about named people accounts for beyond its plan. Of each connection the newest are kept.',
    params: ofRun,
    query: z.object({ values: Values }),
    success: { 200: RunAccount },
    errors: [400, 401, 403, 404, 500, 503],
  },
  revertRun: {
    method: 'POST',
    path: '/runs/:runId/revert',
    permission: 'approver',
    summary: 'Take back what a run did, by a run of its own that is guarded like every other.',
    params: ofRun,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  approveRun: {
    method: 'POST',
    path: '/runs/:runId/approval',
    permission: 'approver',
    summary:
      'Let a held run deliver exactly the plan that the digest names. If what the plan rests on has changed since, the answer is the run that makes the plan again.',
    params: ofRun,
    body: z.strictObject({ digest: z.string(), by: By, reason: Because, connection: OfConnection }),
    success: { 200: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  rejectRun: {
    method: 'POST',
    path: '/runs/:runId/rejection',
    permission: 'approver',
    summary: 'Drop the plan of a held run.',
    params: ofRun,
    body: z.strictObject({ by: By, reason: Because, connection: OfConnection }),
    success: { 200: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  cancelRun: {
    method: 'POST',
    path: '/runs/:runId/cancellation',
    permission: 'operator',
    summary: 'End a run that waits, is held or delivers; what was delivered stays.',
    params: ofRun,
    body: z.strictObject({ by: By }),
    success: { 200: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  listProblems: {
    method: 'GET',
    path: '/problems',
    permission: 'viewer',
    summary:
      'The people that the platform refuses, and those that cannot be delivered for a while, by connection and key.',
    query: z.object({ connection: z.string().optional(), after: After, limit: Limit.default(500), values: Values }),
    success: { 200: page(Problem, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listBlockedPeople: {
    method: 'GET',
    path: '/blocked-people',
    permission: 'viewer',
    summary:
      'The people who need attention because what HR states of them cannot be sent, by connection: those who may have left first, then by key.',
    query: z.object({ connection: z.string().optional(), after: After, limit: Limit.default(500), values: Values }),
    success: { 200: page(BlockedPerson, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listNotEffective: {
    method: 'GET',
    path: '/leavers/not-effective',
    permission: 'viewer',
    summary:
      'The people whose departure the platform has acknowledged though its personnel does not show it, by connection and key.',
    query: z.object({
      connection: z.string().optional(),
      after: After,
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(Leaver, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  reportLeavers: {
    method: 'GET',
    path: '/reports/leavers',
    permission: 'viewer',
    summary: 'What became of every departure whose last day lies in a period, and how long it took.',
    query: z.object({ ...ofPeriod, values: Values }),
    success: { 200: LeaverReport },
    errors: [400, 401, 403, 404, 500, 503],
  },
  packLeavers: {
    method: 'GET',
    path: '/reports/leavers/pack',
    permission: 'viewer',
    summary: 'The report with the acts of the audit trail about its people, and a signature that proves both.',
    query: z.object({ ...ofPeriod, values: Values }),
    success: { 200: LeaverPack },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  listFailures: {
    method: 'GET',
    path: '/failures',
    permission: 'viewer',
    summary: 'What each answer of the platform means, what follows from it, and what helps.',
    success: { 200: z.object({ data: z.array(FailureView) }) },
    errors: [401, 500],
  },
  unblockConnection: {
    method: 'POST',
    path: '/connections/:connection/unblock',
    permission: 'operator',
    summary: 'Try a blocked connection now instead of at its next probe.',
    params: ofConnection,
    body: z.strictObject({ by: By }),
    success: { 200: Unblocked },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listValues: {
    method: 'GET',
    path: '/connections/:connection/values',
    permission: 'viewer',
    summary: 'What people said that values of the status and contractor columns mean.',
    params: ofConnection,
    success: { 200: z.object({ data: z.array(ClassifiedValue) }) },
    errors: [400, 401, 404, 500, 503],
  },
  classValue: {
    method: 'POST',
    path: '/connections/:connection/values',
    permission: 'operator',
    summary: 'Say what a value means that no list of the configuration holds. It counts from the next run on.',
    params: ofConnection,
    body: z.strictObject({ value: z.string().max(191), as: ValueMeaning, by: By }),
    success: { 200: ClassifiedValue },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listEvents: {
    method: 'GET',
    path: '/connections/:connection/events',
    permission: 'viewer',
    summary: 'The events that came in for a connection, the oldest first unless asked otherwise.',
    params: ofConnection,
    query: z.object({
      state: EventState.optional(),
      order: z.enum(['oldest', 'newest']).default('oldest').describe('Which come first.'),
      after: After,
      limit: Limit.default(500),
    }),
    success: { 200: page(InboxEvent, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  retryEvents: {
    method: 'POST',
    path: '/connections/:connection/events/retry',
    permission: 'operator',
    summary: 'Read rejected events again, all or some, as when the mapping was mended.',
    params: ofConnection,
    body: z.strictObject({ ids: EventIds.optional(), by: By }),
    success: { 200: Affected },
    errors: [400, 401, 403, 404, 500, 503],
  },
  dismissEvents: {
    method: 'POST',
    path: '/connections/:connection/events/dismissal',
    permission: 'approver',
    summary: 'Let rejected events go: nothing follows from them.',
    params: ofConnection,
    body: z.strictObject({ ids: EventIds, by: By }),
    success: { 200: Affected },
    errors: [400, 401, 403, 404, 500, 503],
  },
  getPerson: {
    method: 'GET',
    path: '/connections/:connection/people/:identityId',
    permission: 'viewer',
    summary: 'What is desired and confirmed of a person, and how it came about.',
    params: ofPerson,
    query: z.object({ values: Values }),
    success: { 200: Person },
    errors: [400, 401, 403, 404, 500, 503],
  },
  retractPerson: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/retraction',
    permission: 'approver',
    summary: 'Take back a person who was sent in error. The run that does so is held for an approval.',
    params: ofPerson,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  withdrawRetraction: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/retraction/withdrawal',
    permission: 'approver',
    summary: 'Take a retraction back: a run then sends the person again, as the source has them.',
    params: ofPerson,
    body: z.strictObject({ by: By }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  forgetPerson: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/forgetting',
    permission: 'approver',
    summary:
      'Remove the values of a person who has left and is acknowledged, or was retracted. Key and leaving date stay.',
    params: ofPerson,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: {
      200: z.object({ identityId: z.string(), changes: z.int().describe('Changes that lost their values.') }),
    },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  verifyAudit: {
    method: 'POST',
    path: '/audit/verification',
    permission: 'viewer',
    summary: 'Go over the whole audit trail and say what is wrong with it first, if anything is.',
    body: z.strictObject({
      publicKey: z.string().max(1000).optional().describe('PEM, instead of the key of this installation.'),
    }),
    success: { 200: AuditVerification },
    errors: [400, 401, 409, 500, 503],
  },
  exportAudit: {
    method: 'GET',
    path: '/audit/trail',
    permission: 'viewer',
    summary: 'Acts of the audit trail with what proves them, as lines of JSON.',
    query: z.object({
      after: z.int().min(0).default(0),
      from: z.iso.datetime().optional(),
      to: z.iso.datetime().optional(),
      connection: z.string().optional(),
      runId: z.uuid().optional(),
      identityId: z.string().optional(),
    }),
    success: { 200: page(z.string(), z.int()) },
    errors: [400, 401, 500, 503],
  },
  replaceAuditKey: {
    method: 'POST',
    path: '/audit/key',
    permission: 'admin',
    summary: 'Let a new key sign the audit trail from now on. The former one signs that too, if it is there.',
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: AuditKeyReplaced },
    errors: [400, 401, 403, 409, 500, 503],
  },
})
