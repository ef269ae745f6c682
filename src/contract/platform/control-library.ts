import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, FrameworkTag, Id, listQuery, maxShortTextLength, page, text } from './common.ts'
import { ControlCategory, ControlDomain } from './control-classes.ts'

const entitlement = 'CUSTOM_FRAMEWORKS'
const permission = 'controls-get'

const ControlLibrarySort = z
  .enum(['createdAt', 'updatedAt', 'name', 'controlNumber'])
  .meta({ id: 'ControlLibrarySortEnum' })

/** The expansions of a control template. */
export const ControlLibraryDetailExpand = z
  .enum(['testTemplates', 'policyTemplates', 'evidenceTemplates', 'requirementTemplates', 'controlsUsingTemplate'])
  .meta({ id: 'ControlLibraryDetailExpandEnum' })
export type ControlLibraryDetailExpand = z.infer<typeof ControlLibraryDetailExpand>

const itemFields = {
  id: Id,
  code: z.string(),
  controlNumber: z.int().describe('A running number, to sort by and to show.'),
  name: z.string(),
  description: z.string().nullable(),
  question: z.string().nullable().describe('What an auditor would ask the owner.'),
  activity: z.string().nullable().describe('What the owner does again and again.'),
  domain: ControlDomain.nullable(),
  category: ControlCategory.nullable(),
  inUse: z.boolean().describe('Whether the account has a control that was made from it.'),
}

/** A control template in a list. */
export const ControlLibraryItem = z
  .object(itemFields)
  .meta({ id: 'ControlLibraryItemResponsePublicV2Dto', description: 'A template that controls are made from.' })
export type ControlLibraryItem = z.infer<typeof ControlLibraryItem>

/** A test of a control template. */
export const TestTemplate = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string().nullable(),
    rating: z.string().describe('How strongly it is recommended.'),
    source: z.string().describe('Where it comes from.'),
  })
  .meta({ id: 'ControlLibraryTestTemplateCompactResponsePublicV2Dto' })
export type TestTemplate = z.infer<typeof TestTemplate>

/** A policy of a control template. */
export const PolicyTemplate = z
  .object({ id: Id, name: z.string(), description: z.string() })
  .meta({ id: 'ControlLibraryPolicyTemplateCompactResponsePublicV2Dto' })
export type PolicyTemplate = z.infer<typeof PolicyTemplate>

/** Evidence of a control template. */
export const EvidenceTemplate = z
  .object({
    id: Id,
    evidenceTemplateCode: z.string(),
    name: z.string(),
    requestDescription: z.string().nullable(),
    implementationGuidance: z.string().nullable(),
  })
  .meta({ id: 'ControlLibraryEvidenceTemplateCompactResponsePublicV2Dto' })
export type EvidenceTemplate = z.infer<typeof EvidenceTemplate>

const RequirementFramework = z
  .object({ slug: z.string(), name: z.string() })
  .meta({ id: 'ControlLibraryRequirementFrameworkCompactResponsePublicV2Dto' })

/** A requirement of a control template. */
export const RequirementTemplate = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    longDescription: z.string().nullable(),
    additionalInfo: z.string().nullable(),
    additionalInfo2: z.string().nullable(),
    additionalInfo3: z.string().nullable(),
    framework: RequirementFramework,
  })
  .meta({ id: 'ControlLibraryRequirementTemplateCompactResponsePublicV2Dto' })
export type RequirementTemplate = z.infer<typeof RequirementTemplate>

/** A control that was made from a template. */
export const ControlOfTemplate = z
  .object({ controlId: Id, code: z.string(), workspaceId: Id, workspaceName: z.string() })
  .meta({ id: 'ControlLibraryTenantControlCompactResponsePublicV2Dto' })
export type ControlOfTemplate = z.infer<typeof ControlOfTemplate>

/** A control template with its expansions. */
export const ControlLibraryDetail = z
  .object({
    ...itemFields,
    testTemplates: z.array(TestTemplate).optional().describe('On request (`expand[]`).'),
    policyTemplates: z.array(PolicyTemplate).optional().describe('On request (`expand[]`).'),
    evidenceTemplates: z.array(EvidenceTemplate).optional().describe('On request (`expand[]`).'),
    requirementTemplates: z.array(RequirementTemplate).optional().describe('On request (`expand[]`).'),
    controlsUsingTemplate: z
      .array(ControlOfTemplate)
      .optional()
      .describe('The controls of the account that were made from it, archived ones too, on request (`expand[]`).'),
  })
  .meta({ id: 'ControlLibraryDetailResponsePublicV2Dto', description: 'A control template with its expansions.' })
export type ControlLibraryDetail = z.infer<typeof ControlLibraryDetail>

const ControlLibraryPage = page(ControlLibraryItem).meta({ id: 'ControlLibraryResponsePublicV2Dto' })

const Mapped = z.boolean().optional().describe('True: only templates with such a mapping. False has no effect.')

/** The operations on the templates of controls. */
export const controlLibrary = operations({
  listControlLibrary: {
    method: 'GET',
    path: '/control-library',
    summary: 'List Control Library',
    description: 'The templates that controls are made from.',
    permission,
    entitlement,
    query: z.object({
      ...listQuery,
      sort: ControlLibrarySort.optional().describe('The order of the list; by default `createdAt`.'),
      search: text(maxShortTextLength).optional().describe('The beginning of the name or the code, in any case.'),
      'codes[]': z.array(text(maxShortTextLength)).optional().describe('Only templates with one of these codes.'),
      'ids[]': z.array(Id).optional().describe('Only these templates.'),
      'excludeIds[]': z.array(Id).optional().describe('Excludes these templates.'),
      domain: ControlDomain.optional(),
      category: ControlCategory.optional(),
      frameworkTag: FrameworkTag.optional().describe('Only templates for a requirement of this framework.'),
      hasTests: Mapped,
      hasPolicies: Mapped,
      hasEvidence: Mapped,
      hasRisks: Mapped,
    }),
    success: { 200: ControlLibraryPage },
    errors: [400, 401, 402, 403, 412, 500],
  },
  getControlLibraryItem: {
    method: 'GET',
    path: '/control-library/:templateId',
    summary: 'Get Control Library Item',
    description: 'One template.',
    permission,
    entitlement,
    params: z.object({ templateId: Id }),
    query: z.object(expandQuery(ControlLibraryDetailExpand)),
    success: { 200: ControlLibraryDetail },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
})
