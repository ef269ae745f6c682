import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { After, Limit, page, Search } from './lists.ts'
import { PartSelection, PlanGroup, PlanPart } from './plan-parts.ts'
import { ChangeKind, ChangeView, KeptPlan, RejectView } from './plan-shapes.ts'
import { PersonText, Values } from './plans.ts'
import { Run, RunAccount, RunState, RunSummary } from './run-shapes.ts'

const ofConnection = z.object({ connection: z.string() })
const ofRun = z.object({ runId: z.uuid() })
const Because = z.string().trim().min(1).max(500).optional().describe('The reason, recorded in the audit trail.')

const changesQuery = z.object({
  kind: ChangeKind.optional(),
  group: z.string().min(1).max(400).optional().describe('Only people of this group. Takes the role operator.'),
  withoutGroup: z.boolean().optional().describe('Only people without a group. Takes the role operator.'),
  search: Search.optional(),
  sort: z
    .enum(['key', 'kind', 'leavingDate'])
    .optional()
    .describe(
      'By key unless stated. `kind`: leavers, returns, retractions, corrections, joiners, movers. `leavingDate`: the earliest first, people without one at the end. A search is always by key.',
    ),
  after: After,
  limit: Limit.default(500),
  values: Values,
})
/** Which changes of a run are listed, and in which order. */
export type ChangesQuery = z.infer<typeof changesQuery>

const ExpectedConnection = z
  .string()
  .optional()
  .describe('The connection that the caller expects. Refused with 409 if the run belongs to another.')

/** How people list, start and decide about runs. */
export const runOperations = operations({
  listRuns: {
    method: 'GET',
    path: '/runs',
    permission: 'viewer',
    summary: 'The runs, the newest first.',
    query: z.object({
      connection: z.string().optional(),
      state: z.array(RunState).min(1).optional().describe('In one of these states.'),
      trigger: z.array(Run.shape.trigger).min(1).optional().describe('Started by one of these triggers.'),
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
    summary: 'One run, with its counts and verdicts.',
    params: ofRun,
    success: { 200: Run },
    errors: [400, 401, 404, 500, 503],
  },
  listChanges: {
    method: 'GET',
    path: '/runs/:runId/changes',
    permission: 'viewer',
    summary: 'The changes of a run: all, of one kind or group, or of some people.',
    description:
      'A search finds people by any part of their key and, with `values`, of their e-mail address or name; those whose key begins so come first. Its pages may hold fewer changes than asked for, also none, and still have a `next`, as each search is limited.',
    params: ofRun,
    query: changesQuery,
    success: { 200: page(ChangeView, z.string()) },
    errors: [400, 401, 403, 404, 429, 500, 503],
  },
  summarizeRun: {
    method: 'GET',
    path: '/runs/:runId/summary',
    permission: 'viewer',
    summary: 'A summary of a large plan, by field and manager.',
    params: ofRun,
    query: z.object({ values: Values }),
    success: { 200: RunSummary },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listRejects: {
    method: 'GET',
    path: '/runs/:runId/rejects',
    permission: 'viewer',
    summary: 'The rejected rows of a run.',
    params: ofRun,
    query: z.object({ after: After, limit: Limit.default(500) }),
    success: { 200: page(RejectView, z.string()) },
    errors: [400, 401, 404, 500, 503],
  },
  startRun: {
    method: 'POST',
    path: '/connections/:connection/runs',
    permission: 'operator',
    summary: 'Request a run; while one is active, the request joins the waiting run.',
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
  runAccount: {
    method: 'GET',
    path: '/runs/:runId/account',
    permission: 'viewer',
    summary: 'The account of a run of one person, or of a revert. Of each connection the newest are kept.',
    params: ofRun,
    query: z.object({ values: Values }),
    success: { 200: RunAccount },
    errors: [400, 401, 403, 404, 500, 503],
  },
  revertRun: {
    method: 'POST',
    path: '/runs/:runId/revert',
    permission: 'approver',
    summary: 'Revert a run by a guarded run of its own.',
    params: ofRun,
    body: z.strictObject({ reason: z.string().min(1).max(500), by: By }),
    success: { 201: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  listPlanGroups: {
    method: 'GET',
    path: '/runs/:runId/groups',
    permission: 'operator',
    summary: 'The groups of the people in a plan, the largest first.',
    params: ofRun,
    query: z.object({
      search: Search.optional().describe('A part of the name of a group.'),
      limit: Limit.default(100),
    }),
    success: {
      200: z.object({ data: z.array(PlanGroup), count: z.int().min(0).describe('The number of groups that match.') }),
    },
    errors: [400, 401, 403, 404, 500, 503],
  },
  previewPart: {
    method: 'POST',
    path: '/runs/:runId/part',
    permission: 'operator',
    summary: 'Preview a part of a held plan. Changes nothing.',
    params: ofRun,
    query: z.object({ values: Values, limit: Limit.default(500).describe('How many changes are listed.') }),
    body: PartSelection,
    success: { 200: PlanPart },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  approveRun: {
    method: 'POST',
    path: '/runs/:runId/approval',
    permission: 'approver',
    summary:
      'Approve the plan of a held run, which the digest names. If the plan has moved, the response is the run that makes it again. Of a part, the response is the run that delivers it; the rest stays held.',
    params: ofRun,
    body: z.strictObject({
      digest: z.string().describe('Names the plan or, with `part`, the part.'),
      part: PartSelection.optional(),
      by: By,
      reason: Because,
      connection: ExpectedConnection,
    }),
    success: { 200: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  rejectRun: {
    method: 'POST',
    path: '/runs/:runId/rejection',
    permission: 'approver',
    summary: 'Reject the plan of a held run.',
    params: ofRun,
    body: z.strictObject({ by: By, reason: Because, connection: ExpectedConnection }),
    success: { 200: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
  cancelRun: {
    method: 'POST',
    path: '/runs/:runId/cancellation',
    permission: 'operator',
    summary: 'Cancel a run that waits, is held or delivers; what was delivered stays.',
    params: ofRun,
    body: z.strictObject({ by: By }),
    success: { 200: Run },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
})
