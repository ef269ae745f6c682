import { z } from 'zod'
import { operations } from '../operation.ts'
import { Alert, AlertChannel, AlertTest } from './alerts.ts'
import { AuditKeyReplaced, AuditVerification } from './audit.ts'
import { holdBackOperations } from './hold-backs.ts'
import { keyOperations } from './keys.ts'
import { Leaver, LeaverPack, LeaverReport } from './leavers.ts'
import {
  ChangeKind,
  ChangeView,
  ClassedValue,
  EventState,
  FailureView,
  InboxEvent,
  KeptPlan,
  Person,
  PersonPlan,
  PlanDocument,
  Problem,
  RejectView,
  Run,
  RunAccount,
  RunSummary,
  Status,
  Unserved,
  ValueMeaning,
} from './shapes.ts'
import { storeOperations } from './store.ts'

/** Where the control API is mounted. */
export const controlPrefix = '/api/v1'

const Values = z
  .boolean()
  .default(false)
  .describe('Whether personal values are shown; without them only the names of their fields.')
const Limit = z.int().min(1).max(1000)

const ofConnection = z.object({ connection: z.string() })
const ofPerson = z.object({ connection: z.string(), identityId: z.string() })
const ofRun = z.object({ runId: z.uuid() })
const By = z.string().min(1).max(191).describe('The person who decides, for the record.')
const Because = z.string().trim().min(1).max(500).optional().describe('Why, for the record.')
const OfConnection = z
  .string()
  .optional()
  .describe('The connection that the person takes the run to be of. Another one is refused.')

const PersonText = z.string().min(1).max(320)
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

function page<T extends z.ZodType, N extends z.ZodType>(item: T, after: N) {
  return z.object({ data: z.array(item), next: after.nullable().describe('Give it as `after` for what follows.') })
}

/** The operations of the daemon: the only way in for the console, and for the commands while a daemon runs. */
export const control = operations({
  ...keyOperations,
  ...holdBackOperations,
  ...storeOperations,
  about: {
    method: 'GET',
    path: '/about',
    summary: 'What runs here. It is answered without a look into the store.',
    success: { 200: Status.pick({ version: true, daemon: true }).meta({ id: 'About' }) },
    errors: [401, 500],
  },
  status: {
    method: 'GET',
    path: '/status',
    summary: 'What runs here, and how every connection stands.',
    success: { 200: Status },
    errors: [401, 500, 503],
  },
  listAlerts: {
    method: 'GET',
    path: '/alerts',
    summary: 'What needs the attention of a person now, what was sent about it, and where alerts go.',
    success: { 200: z.object({ data: z.array(Alert), channels: z.array(AlertChannel) }) },
    errors: [401, 500, 503],
  },
  testAlerts: {
    method: 'POST',
    path: '/alerts/test',
    summary: 'Send a test message now through one channel, or through each.',
    body: z.strictObject({ channel: z.string().optional() }),
    success: { 200: z.object({ data: z.array(AlertTest) }) },
    errors: [400, 401, 404, 500],
  },
  listRuns: {
    method: 'GET',
    path: '/runs',
    summary: 'The newest runs first.',
    query: z.object({ connection: z.string().optional(), limit: Limit.default(50) }),
    success: { 200: z.object({ data: z.array(Run) }) },
    errors: [400, 401, 404, 500, 503],
  },
  getRun: {
    method: 'GET',
    path: '/runs/:runId',
    summary: 'One run, with its counts and the verdicts of the guards.',
    params: ofRun,
    success: { 200: Run },
    errors: [400, 401, 404, 500, 503],
  },
  listChanges: {
    method: 'GET',
    path: '/runs/:runId/changes',
    summary: 'The changes of a run by key: all of them, or those of one kind.',
    params: ofRun,
    query: z.object({
      kind: ChangeKind.optional(),
      after: z.string().optional(),
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(ChangeView, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  summarizeRun: {
    method: 'GET',
    path: '/runs/:runId/summary',
    summary: 'What the plan of a run does by field and by manager, for a plan that is too large to be read by person.',
    params: ofRun,
    query: z.object({ values: Values }),
    success: { 200: RunSummary },
    errors: [400, 401, 404, 500, 503],
  },
  listRejects: {
    method: 'GET',
    path: '/runs/:runId/rejects',
    summary: 'The rows of the source that could not become a record, by line.',
    params: ofRun,
    query: z.object({ after: z.int().min(0).optional(), limit: Limit.default(500) }),
    success: { 200: page(RejectView, z.int()) },
    errors: [400, 401, 404, 500, 503],
  },
  startRun: {
    method: 'POST',
    path: '/connections/:connection/runs',
    summary: 'Ask for a run; while another one is active, the request joins the one that waits.',
    params: ofConnection,
    body: z.strictObject({
      full: z.boolean().optional(),
      verify: z.boolean().optional(),
      person: PersonText.optional().describe(
        'Read the source for this one person, by key or e-mail address, and deliver no one else. It goes with no other option.',
      ),
      plan: KeptPlan.optional().describe('The run fails unless it comes to exactly this plan.'),
      by: By.optional().describe('The person who asks, for the record.'),
    }),
    success: { 201: Run },
    errors: [400, 401, 404, 409, 500, 503],
  },
  planConnection: {
    method: 'POST',
    path: '/connections/:connection/plan',
    summary: 'What a run would do now. Stores nothing and sends nothing.',
    params: ofConnection,
    query: z.object({ values: Values }),
    success: { 200: PlanDocument },
    errors: [400, 401, 404, 409, 422, 500, 503],
  },
  planPerson: {
    method: 'POST',
    path: '/connections/:connection/plan/person',
    summary: 'What a run of one person would do now, and why. Stores nothing and sends nothing.',
    params: ofConnection,
    query: z.object({ values: Values }),
    body: z.strictObject({ person: PersonText.describe('The key or the e-mail address.') }),
    success: { 200: PersonPlan },
    errors: [400, 401, 404, 409, 422, 500, 503],
  },
  runAccount: {
    method: 'GET',
    path: '/runs/:runId/account',
    summary: 'What a run about named people accounts for beyond its plan. Of each connection the newest are kept.',
    params: ofRun,
    query: z.object({ values: Values }),
    success: { 200: RunAccount },
    errors: [400, 401, 404, 500, 503],
  },
  revertRun: {
    method: 'POST',
    path: '/runs/:runId/revert',
    summary: 'Take back what a run did, by a run of its own that is guarded like every other.',
    params: ofRun,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: Run },
    errors: [400, 401, 404, 409, 500, 503],
  },
  approveRun: {
    method: 'POST',
    path: '/runs/:runId/approval',
    summary:
      'Let a held run deliver exactly the plan that the digest names. If what the plan rests on has changed since, the answer is the run that makes the plan again.',
    params: ofRun,
    body: z.strictObject({ digest: z.string(), by: By, reason: Because, connection: OfConnection }),
    success: { 200: Run },
    errors: [400, 401, 404, 409, 500, 503],
  },
  rejectRun: {
    method: 'POST',
    path: '/runs/:runId/rejection',
    summary: 'Drop the plan of a held run.',
    params: ofRun,
    body: z.strictObject({ by: By, reason: Because, connection: OfConnection }),
    success: { 200: Run },
    errors: [400, 401, 404, 409, 500, 503],
  },
  cancelRun: {
    method: 'POST',
    path: '/runs/:runId/cancellation',
    summary: 'End a run that waits, is held or delivers; what was delivered stays.',
    params: ofRun,
    body: z.strictObject({ by: By }),
    success: { 200: Run },
    errors: [400, 401, 404, 409, 500, 503],
  },
  listProblems: {
    method: 'GET',
    path: '/problems',
    summary:
      'The people that the platform refuses, and those that cannot be delivered for a while, by connection and key.',
    query: z.object({ connection: z.string().optional(), after: z.string().optional(), limit: Limit.default(500) }),
    success: { 200: page(Problem, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  listUnserved: {
    method: 'GET',
    path: '/unserved',
    summary:
      'The people who stand in a source and are not served as it says, by connection: those who may have left first, then by key.',
    query: z.object({ connection: z.string().optional(), after: z.string().optional(), limit: Limit.default(500) }),
    success: { 200: page(Unserved, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  listNotEffective: {
    method: 'GET',
    path: '/leavers/not-effective',
    summary:
      'The people whose departure the platform has acknowledged though its personnel does not show it, by connection and key.',
    query: z.object({
      connection: z.string().optional(),
      after: z.string().optional(),
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(Leaver, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  reportLeavers: {
    method: 'GET',
    path: '/reports/leavers',
    summary: 'What became of every departure whose last day lies in a period, and how long it took.',
    query: z.object({ ...ofPeriod, values: Values }),
    success: { 200: LeaverReport },
    errors: [400, 401, 404, 500, 503],
  },
  packLeavers: {
    method: 'GET',
    path: '/reports/leavers/pack',
    summary: 'The report with the acts of the audit trail about its people, and a signature that proves both.',
    query: z.object({ ...ofPeriod, values: Values }),
    success: { 200: LeaverPack },
    errors: [400, 401, 404, 409, 500, 503],
  },
  listFailures: {
    method: 'GET',
    path: '/failures',
    summary: 'What each answer of the platform means, what follows from it, and what helps.',
    success: { 200: z.object({ data: z.array(FailureView) }) },
    errors: [401, 500],
  },
  unblockConnection: {
    method: 'POST',
    path: '/connections/:connection/unblock',
    summary: 'Try a blocked connection now instead of at its next probe.',
    params: ofConnection,
    body: z.strictObject({ by: By }),
    success: { 200: Unblocked },
    errors: [400, 401, 404, 500, 503],
  },
  listValues: {
    method: 'GET',
    path: '/connections/:connection/values',
    summary: 'What people said that values of the status and contractor columns mean.',
    params: ofConnection,
    success: { 200: z.object({ data: z.array(ClassedValue) }) },
    errors: [400, 401, 404, 500, 503],
  },
  classValue: {
    method: 'POST',
    path: '/connections/:connection/values',
    summary: 'Say what a value means that no list of the configuration holds. It counts from the next run on.',
    params: ofConnection,
    body: z.strictObject({ value: z.string().max(191), as: ValueMeaning, by: By }),
    success: { 200: ClassedValue },
    errors: [400, 401, 404, 500, 503],
  },
  listEvents: {
    method: 'GET',
    path: '/connections/:connection/events',
    summary: 'The events that came in for a connection, the oldest first.',
    params: ofConnection,
    query: z.object({ state: EventState.optional(), after: z.string().optional(), limit: Limit.default(500) }),
    success: { 200: page(InboxEvent, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  retryEvents: {
    method: 'POST',
    path: '/connections/:connection/events/retry',
    summary: 'Read rejected events again, all or some, as when the mapping was mended.',
    params: ofConnection,
    body: z.strictObject({ ids: EventIds.optional(), by: By.optional() }),
    success: { 200: Affected },
    errors: [400, 401, 404, 500, 503],
  },
  dismissEvents: {
    method: 'POST',
    path: '/connections/:connection/events/dismissal',
    summary: 'Let rejected events go: nothing follows from them.',
    params: ofConnection,
    body: z.strictObject({ ids: EventIds, by: By }),
    success: { 200: Affected },
    errors: [400, 401, 404, 500, 503],
  },
  getPerson: {
    method: 'GET',
    path: '/connections/:connection/people/:identityId',
    summary: 'What is wanted and confirmed of a person, and how it came about.',
    params: ofPerson,
    query: z.object({ values: Values }),
    success: { 200: Person },
    errors: [400, 401, 404, 500, 503],
  },
  retractPerson: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/retraction',
    summary: 'Take back a person who was sent in error. The run that does so is held for an approval.',
    params: ofPerson,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: Run },
    errors: [400, 401, 404, 409, 500, 503],
  },
  restorePerson: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/restoration',
    summary: 'Take a retraction back: a run then sends the person again, as the source has them.',
    params: ofPerson,
    body: z.strictObject({ by: By }),
    success: { 201: Run },
    errors: [400, 401, 404, 409, 500, 503],
  },
  forgetPerson: {
    method: 'POST',
    path: '/connections/:connection/people/:identityId/forgetting',
    summary:
      'Remove the values of a person who has left and is acknowledged, or was retracted. Key and leaving date stay.',
    params: ofPerson,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: {
      200: z.object({ identityId: z.string(), changes: z.int().describe('Changes that lost their values.') }),
    },
    errors: [400, 401, 404, 409, 500, 503],
  },
  verifyAudit: {
    method: 'POST',
    path: '/audit/verification',
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
    summary: 'Let a new key sign the audit trail from now on. The former one signs that too, if it is there.',
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: AuditKeyReplaced },
    errors: [400, 401, 409, 500, 503],
  },
})
