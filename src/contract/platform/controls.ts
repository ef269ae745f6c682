import { z } from 'zod'
import { operations } from '../operation.ts'
import {
  CustomFieldSubmit,
  CustomFieldValue,
  expandQuery,
  FrameworkTag,
  Id,
  listQuery,
  maxLongTextLength,
  maxShortTextLength,
  maxUrlLength,
  OwnersSubcollection,
  page,
  Timestamp,
  text,
} from './common.ts'
import { TrustServiceCriterion } from './control-classes.ts'

const maxCodeLength = 20

const expansions = [
  'customFields',
  'evidenceIds',
  'flags',
  'frameworkTags',
  'owners',
  'requirements',
  'testIds',
  'topics',
] as const

const ControlsExpand = z.enum(expansions).meta({ id: 'ControlsExpandEnum' })
/** The expansions of controls. */
export const ControlExpand = z.enum(expansions).meta({ id: 'ControlExpandEnum' })
export type ControlExpand = z.infer<typeof ControlExpand>

/** What a control has. */
export const ControlFlags = z
  .object({
    hasEvidence: z.boolean().nullable(),
    hasPolicy: z.boolean().nullable(),
    isReady: z
      .boolean()
      .nullable()
      .describe('Whether it has an owner, a proof, and no failed test or invalid evidence.'),
    hasTicket: z.boolean().nullable(),
    hasOwner: z.boolean(),
    isMonitored: z.boolean().describe('Whether one of its tests is monitored.'),
  })
  .meta({ id: 'ControlFlagsResponsePublicV2Dto', description: 'What a control has.' })
export type ControlFlags = z.infer<typeof ControlFlags>

/** The tests of a control by result. */
export const ControlTestIds = z
  .object({ passing: z.array(Id), failing: z.array(Id), monitored: z.array(Id) })
  .meta({ id: 'ControlTestIdsResponsePublicV2Dto', description: 'The tests of a control by result.' })
export type ControlTestIds = z.infer<typeof ControlTestIds>

/** The evidence of a control by kind and validity. */
export const ControlEvidenceIds = z
  .object({
    validExternalEvidenceIds: z.array(Id),
    invalidExternalEvidenceIds: z.array(Id),
    validReportIds: z.array(Id),
    invalidReportIds: z.array(Id),
  })
  .meta({ id: 'ControlEvidenceIdsResponsePublicV2Dto', description: 'The evidence of a control by kind and validity.' })
export type ControlEvidenceIds = z.infer<typeof ControlEvidenceIds>

/** A requirement that a control meets. */
export const ControlRequirement = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    longDescription: z.string().nullable(),
    additionalInfo: z.string().nullable(),
    additionalInfo2: z.string().nullable(),
    additionalInfo3: z.string().nullable(),
    externalId: z.string().nullable(),
    frameworkName: z.string(),
    frameworkPill: z.string().describe('The name of the framework where there is little room.'),
    frameworkSlug: z.string(),
    frameworkTag: z.string(),
    archivedAt: Timestamp.nullable(),
    rationale: z.string().nullable().describe('Why it was archived.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({
    id: 'ControlRequirementResponsePublicV2Dto',
    description: 'A requirement of a framework that a control meets.',
  })
export type ControlRequirement = z.infer<typeof ControlRequirement>

/** A control of a workspace. */
export const Control = z
  .object({
    id: Id,
    name: z.string(),
    code: z.string().describe('Unique in the workspace.'),
    slug: z.string().nullable(),
    description: z.string().nullable(),
    question: z.string().nullable().describe('What an auditor would ask the owner.'),
    activity: z.string().nullable().describe('What the owner does again and again.'),
    archivedAt: Timestamp.nullable().describe('Null while the control is in use.'),
    rationale: z.string().nullable().describe('Why it was archived.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    controlTemplateId: Id.nullable().describe('Null for a control without a template.'),
    frameworkTags: z
      .array(FrameworkTag)
      .optional()
      .describe('The enabled frameworks that it serves, on request (`expand[]`).'),
    topics: z.array(TrustServiceCriterion).optional().describe('On request (`expand[]`).'),
    flags: ControlFlags.optional().describe('On request (`expand[]`).'),
    owners: OwnersSubcollection.optional().describe('On request (`expand[]`).'),
    requirements: z.array(ControlRequirement).optional().describe('On request (`expand[]`).'),
    customFields: z.array(CustomFieldValue).optional().describe('On request (`expand[]`).'),
    testIds: ControlTestIds.optional().describe('If tests or evidence are requested (`expand[]`).'),
    evidenceIds: ControlEvidenceIds.optional().describe('If tests or evidence are requested (`expand[]`).'),
  })
  .meta({ id: 'ControlResponsePublicV2Dto', description: 'A control of a workspace.' })
export type Control = z.infer<typeof Control>

const ControlPage = page(Control).meta({ id: 'ControlsResponsePublicV2Dto' })

/** How often evidence is renewed. */
export const RenewalSchedule = z.enum([
  'ONE_MONTH',
  'TWO_MONTHS',
  'THREE_MONTHS',
  'SIX_MONTHS',
  'ONE_YEAR',
  'CUSTOM',
  'NONE',
])
export type RenewalSchedule = z.infer<typeof RenewalSchedule>

const jsonText = z.string().refine(isJsonList, { error: 'must be a list, written as JSON' }).meta({ format: 'json' })

/** A new control. */
export const ControlCreate = z
  .object({
    name: text(maxShortTextLength).min(1),
    description: text(maxLongTextLength),
    code: text(maxCodeLength).min(1).describe('Unique in the workspace.'),
    question: text(maxUrlLength).optional(),
    activity: text(maxUrlLength).optional(),
    reportIds: z.array(Id).optional().describe('Evidence of the workspace that is a report.'),
    policyIds: z.array(Id).optional(),
    requirementIds: z.array(Id).optional(),
    ownersIds: z.array(Id).optional().describe('Users of the account.'),
    testIds: z.array(Id).optional().describe('Tests of the workspace.'),
    customFields: z.array(CustomFieldSubmit).optional(),
    externalEvidence: z
      .array(z.file({ error: 'must be a file of a form (multipart/form-data)' }))
      .optional()
      .describe('Files that prove the control. Only in a form; JSON carries them in `base64Files`.'),
    base64Files: jsonText
      .optional()
      .describe('Files as JSON: a list of `{ "filename", "base64String" }`. The text may begin as a `data:` URL does.'),
    externalEvidenceMetadata: jsonText
      .optional()
      .describe(
        'The metadata of these files, as JSON: a list of `{ "originalFile", "name", "filename", "description", "creationDate", "renewalDate", "renewalScheduleType" }`, of which `originalFile` names the file.',
      ),
  })
  .meta({ id: 'ControlCreateRequestPublicV2Dto' })
export type ControlCreate = z.infer<typeof ControlCreate>

/** A control in a path: its id, or its code after `code:`. */
export const ControlRef = z.union([Id, z.templateLiteral(['code:', z.string().min(1)])], {
  error: 'must be a number, or a code that begins with code:',
})
export type ControlRef = z.infer<typeof ControlRef>

const flagFilters = {
  isMonitored: z.boolean().optional().describe('Only controls with a monitored test, or only those without.'),
  isReady: z.boolean().optional().describe('Only controls that are ready, or only those that are not.'),
  hasEvidence: z.boolean().optional().describe('Only controls with evidence, or only those without.'),
  hasPolicy: z.boolean().optional().describe('Only controls with a policy, or only those without.'),
  hasPassingTest: z.boolean().optional().describe('Only controls with a test that passed, or only those without.'),
  isEnabled: z.boolean().optional().describe('Only controls that are enabled, or only those that are not.'),
  isArchived: z.boolean().optional().describe('Only controls that are archived, or only those that are not.'),
}

/** The operations on controls. */
export const controls = operations({
  listControls: {
    method: 'GET',
    path: '/workspaces/:workspaceId/controls',
    summary: 'List Controls',
    description: 'The controls of a workspace.',
    permission: 'controls-get',
    params: z.object({ workspaceId: Id }),
    query: z.object({
      ...listQuery,
      ...expandQuery(ControlsExpand),
      ...flagFilters,
      ticketStatus: z.enum(['IN_PROGRESS', 'ARCHIVED']).optional().describe('Only controls with a ticket like this.'),
      policyId: Id.optional().describe('Only controls with this policy.'),
    }),
    success: { 200: ControlPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  createControl: {
    method: 'POST',
    path: '/workspaces/:workspaceId/controls',
    summary: 'Create Control',
    description: 'Create a control in a workspace.',
    permission: 'controls-post',
    params: z.object({ workspaceId: Id }),
    body: ControlCreate,
    takesForms: true,
    success: { 201: Control },
    errors: [400, 401, 403, 404, 412, 413, 500, 503],
  },
  getControl: {
    method: 'GET',
    path: '/workspaces/:workspaceId/controls/:controlId',
    summary: 'Get Control',
    description: 'One control.',
    permission: 'controls-get-control',
    params: z.object({ workspaceId: Id, controlId: ControlRef }),
    query: z.object(expandQuery(ControlExpand)),
    success: { 200: Control },
    errors: [400, 401, 403, 404, 412, 500],
  },
})

function isJsonList(json: string): boolean {
  try {
    return Array.isArray(JSON.parse(json))
  } catch {
    return false
  }
}
