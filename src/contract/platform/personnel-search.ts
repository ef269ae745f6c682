import { z } from 'zod'
import { operations } from '../operation.ts'
import {
  CustomFieldValue,
  expandQuery,
  Id,
  listQuery,
  maxLongTextLength,
  maxShortTextLength,
  Pagination,
  text,
} from './common.ts'
import { GroupCompact } from './groups.ts'
import { ComplianceCheck, type ComplianceCheckType, EmploymentStatus, Person } from './personnel.ts'
import { ConnectionCompact } from './users.ts'

/** The results of a compliance check in a search. Nobody has `OUT_OF_SCOPE`: whoever is not checked is `EXCLUDED`, as on the person. */
export const SearchedStatus = z
  .enum(['PASS', 'FAIL', 'MISCONFIGURED', 'EXCLUDED', 'OUT_OF_SCOPE'])
  .meta({ id: 'ComplianceCheckStatusPublicV2Enum' })

/** Whether a person has a record in HR or at an identity provider. */
export const SyncStatus = z.enum(['SYNCED', 'NOT_SYNCED']).meta({ id: 'PersonnelSyncStatusPublicV2Enum' })

/** The checks that a search filters and counts by: the name of the filter, and the type of the check. */
export const searchedChecks = {
  complianceStatus: 'FULL_COMPLIANCE',
  acceptedPoliciesStatus: 'ACCEPTED_POLICIES',
  bgCheckStatus: 'BG_CHECK',
  identityMfaStatus: 'IDENTITY_MFA',
  securityTrainingStatus: 'SECURITY_TRAINING',
  hipaaTrainingStatus: 'HIPAA_TRAINING',
  aiAwarenessTrainingStatus: 'NIST_AI_TRAINING',
  offboardingStatus: 'OFFBOARDING',
  agentInstalledStatus: 'AGENT_INSTALLED',
  passwordManagerStatus: 'PASSWORD_MANAGER',
  diskEncryptionStatus: 'HDD_ENCRYPTION',
  antivirusStatus: 'ANTIVIRUS',
  autoUpdatesStatus: 'AUTO_UPDATES',
  lockScreenStatus: 'LOCK_SCREEN',
} as const satisfies Readonly<Record<string, z.infer<typeof ComplianceCheckType>>>
/** The name of a filter by the status of a check. */
export type SearchedCheck = keyof typeof searchedChecks
const checkNames = Object.keys(searchedChecks) as readonly SearchedCheck[]

/** What a search counts. */
export const SearchFacet = z
  .enum(['employmentStatus', 'syncStatus', 'groupIds', ...checkNames])
  .meta({ id: 'PersonnelSearchFacetEnum' })
export type SearchFacet = z.infer<typeof SearchFacet>

const SearchExpand = z
  .enum(['customFields', 'complianceChecks', 'reasonProvider', 'user', 'groups', 'idpConnection', 'hrisConnection'])
  .meta({ id: 'PersonnelSearchExpandEnum' })

/** Maximum number of objects that a search shows of each list of a person. */
export const maxSubcollection = 10

function subcollection<T extends z.ZodType>(entry: T, name: string) {
  return z
    .object({ data: z.array(entry).max(maxSubcollection), totalCount: z.int().min(0) })
    .meta({ id: `Personnel${name}SubcollectionPublicV2Dto`, description: 'At most ten, and how many there are.' })
    .optional()
    .describe('On request (`expand[]`).')
}

/** A person as a search finds them. */
export const PersonSearch = Person.omit({ complianceChecks: true, customFields: true })
  .extend({
    syncStatus: SyncStatus,
    idpConnectionId: Id.nullable().describe('The identity provider of the person.'),
    hrisConnectionId: Id.nullable().describe('The HRIS connection with the leading record of the person.'),
    complianceChecks: subcollection(ComplianceCheck, 'ComplianceChecks'),
    customFields: subcollection(CustomFieldValue, 'CustomFields'),
    groups: subcollection(GroupCompact, 'Groups'),
    idpConnection: ConnectionCompact.optional().describe('On request (`expand[]`), if there is one.'),
    hrisConnection: ConnectionCompact.optional().describe('On request (`expand[]`), if there is one.'),
  })
  .meta({ id: 'PersonSearchResponsePublicV2Dto', description: 'A person as a search finds them.' })
export type PersonSearch = z.infer<typeof PersonSearch>

const FacetBucket = z
  .object({ value: z.string(), count: z.int().min(0) })
  .meta({ id: 'FacetBucketResponsePublicV2Dto', description: 'How many of the people found have a value.' })
/** A value, and how many of the people found have it. */
export type FacetBucket = z.infer<typeof FacetBucket>

const Facets = z
  .object(Object.fromEntries(SearchFacet.options.map((name) => [name, z.array(FacetBucket).optional()])))
  .meta({ id: 'PersonnelSearchFacetsResponsePublicV2Dto' })

const SearchPage = z
  .object({
    data: z.array(PersonSearch).describe('The page.'),
    pagination: Pagination,
    facets: Facets.optional().describe('On the first page, if `facets[]` asked for any.'),
  })
  .meta({ id: 'PersonnelSearchResponsePublicV2Dto' })

const field = { customFieldId: Id.optional(), name: text(maxShortTextLength).optional() }
const bound = text(maxShortTextLength)
  .regex(/^(?:-?\d{1,30}(?:\.\d{1,30})?|\d{4}-\d{2}-\d{2}[\dT:.Z+-]*)$/, {
    error: 'must be a number or a date such as 2026-01-31',
  })
  .optional()

const CustomFieldFilter = z
  .strictObject({ ...field, value: text(maxLongTextLength) })
  .refine(namesField, { error: 'needs customFieldId or name' })
  .meta({ id: 'CustomFieldFilterPublicV2Dto' })

/** The values between which a custom field must be. */
export const CustomRangeFilter = z
  .strictObject({ ...field, gte: bound, lte: bound })
  .refine(namesField, { error: 'needs customFieldId or name' })
  .refine(({ gte, lte }) => gte !== undefined || lte !== undefined, { error: 'needs gte or lte' })
  .meta({ id: 'CustomRangeFieldFilterPublicV2Dto' })
export type CustomRangeFilter = z.infer<typeof CustomRangeFilter>

/** Maximum number of conditions on custom fields in one search. */
const maxFieldFilters = 20

const prefix = text(maxShortTextLength).optional()
const ids = z.array(Id).optional()
type CheckFilters = {
  readonly [Name in SearchedCheck as `${Name}[]`]: z.ZodOptional<z.ZodArray<typeof SearchedStatus>>
}
const checkFilters = Object.fromEntries(
  checkNames.map((name) => [
    `${name}[]`,
    z.array(SearchedStatus).optional().describe(`Only people whose check ${searchedChecks[name]} has such a status.`),
  ]),
) as CheckFilters

const SearchQuery = z.object({
  ...listQuery,
  sort: z
    .enum(['createdAt', 'updatedAt', 'name', 'startDate'])
    .meta({ id: 'PersonnelSortEnum' })
    .optional()
    .describe('The order of the list; by default `createdAt`. `name` compares last names first.'),
  ...expandQuery(SearchExpand),
  'facets[]': z.array(SearchFacet).optional().describe('What to count in all people found. Only on the first page.'),
  q: prefix.describe('Only people of whose names, address or job title each of these words begins a word.'),
  firstName: prefix.describe('Only people whose first name begins like this; case does not matter.'),
  lastName: prefix.describe('Only people whose last name begins like this; case does not matter.'),
  'employmentStatus[]': z.array(EmploymentStatus).optional().describe('Only people with one of these statuses.'),
  ...checkFilters,
  'groupIds[]': ids.describe('Only people in one of these groups.'),
  syncStatus: SyncStatus.optional().describe('Only people with any such record, or with none.'),
  'idpConnectionIds[]': ids.describe('Only people of one of these identity providers.'),
  'hrisConnectionIds[]': ids.describe('Only people whose leading record is in one of these HRIS connections.'),
  customFields: z
    .array(CustomFieldFilter)
    .max(maxFieldFilters)
    .optional()
    .describe('Only people with all of these values: `customFields[0][name]=Site&customFields[0][value]=Bonn`.'),
  customRangeFields: z
    .array(CustomRangeFilter)
    .max(maxFieldFilters)
    .optional()
    .describe(
      'Only people with values in all of these ranges: `customRangeFields[0][customFieldId]=4&customRangeFields[0][gte]=5`.',
    ),
})
/** What people are searched by. */
export type SearchQuery = z.infer<typeof SearchQuery>

/** The operations that search people. What they show may be a few seconds old. */
export const personnelSearch = operations({
  searchPersonnel: {
    method: 'GET',
    path: '/personnel-search',
    summary: 'Search Personnel across all workspaces',
    description: 'The people of the account who fit all filters. The answer may be a few seconds old.',
    permission: 'personnel-get',
    query: SearchQuery,
    success: { 200: SearchPage },
    errors: [400, 401, 403, 412, 500],
  },
  searchWorkspacePersonnel: {
    method: 'GET',
    path: '/workspaces/:workspaceId/personnel-search',
    summary: 'Search Personnel within a workspace',
    description: 'The people in the scope of a workspace who fit all filters. The answer may be a few seconds old.',
    permission: 'personnel-get',
    params: z.object({ workspaceId: Id }),
    query: SearchQuery,
    success: { 200: SearchPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
})

function namesField({ customFieldId, name }: { readonly customFieldId?: unknown; readonly name?: unknown }): boolean {
  return customFieldId !== undefined || name !== undefined
}
