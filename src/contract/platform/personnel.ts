import { z } from 'zod'
import { operations } from '../operation.ts'
import {
  CustomFieldSubmit,
  CustomFieldValue,
  expandQuery,
  Id,
  listQuery,
  maxLongTextLength,
  page,
  SubmittedDay,
  Timestamp,
  text,
  UserCompact,
} from './common.ts'

/** The employment statuses of people. */
export const EmploymentStatus = z
  .enum([
    'CURRENT_EMPLOYEE',
    'FORMER_EMPLOYEE',
    'CURRENT_CONTRACTOR',
    'FORMER_CONTRACTOR',
    'OUT_OF_SCOPE',
    'UNKNOWN',
    'SPECIAL_FORMER_EMPLOYEE',
    'SPECIAL_FORMER_CONTRACTOR',
    'FUTURE_HIRE',
    'SERVICE_ACCOUNT',
  ])
  .meta({ id: 'EmploymentStatusEnum' })
export type EmploymentStatus = z.infer<typeof EmploymentStatus>

/** The results of a compliance check. */
export const ComplianceCheckStatus = z
  .enum(['MISCONFIGURED', 'PASS', 'FAIL', 'EXCLUDED'])
  .meta({ id: 'ComplianceCheckStatusEnum' })

/** The compliance checks. */
export const ComplianceCheckType = z
  .enum([
    'FULL_COMPLIANCE',
    'ACCEPTED_POLICIES',
    'IDENTITY_MFA',
    'BG_CHECK',
    'AGENT_INSTALLED',
    'PASSWORD_MANAGER',
    'HDD_ENCRYPTION',
    'ANTIVIRUS',
    'AUTO_UPDATES',
    'LOCK_SCREEN',
    'SECURITY_TRAINING',
    'LOCATION_SERVICES',
    'HIPAA_TRAINING',
    'OFFBOARDING',
    'NIST_AI_TRAINING',
  ])
  .meta({ id: 'ComplianceCheckTypeEnum' })
export type ComplianceCheckType = z.infer<typeof ComplianceCheckType>

/** How often a check runs. */
export const CheckFrequency = z
  .enum(['ONCE', 'HOURLY', 'QID', 'DAILY', 'WEEKLY', 'BIWEEKLY', 'MONTHLY', 'QUARTERLY', 'YEARLY'])
  .meta({ id: 'CheckFrequencyEnum' })

const PersonnelExpand = z
  .enum(['customFields', 'complianceChecks', 'reasonProvider', 'user'])
  .meta({ id: 'PersonnelExpandEnum' })

const ComplianceCheckExclusion = z
  .object({
    id: Id,
    reason: z.string(),
    createdById: Id,
    createdByEmail: z.string(),
    createdAt: Timestamp,
    startDate: Timestamp,
    endDate: Timestamp.nullable().describe('Null for an exclusion without an end.'),
  })
  .meta({ id: 'ComplianceCheckExclusionResponsePublicV2Dto', description: 'Why a check is excluded, and how long.' })

/** A compliance check of a person. */
export const ComplianceCheck = z
  .object({
    id: Id,
    type: ComplianceCheckType,
    status: ComplianceCheckStatus,
    checkFrequency: CheckFrequency,
    expiresAt: Timestamp.nullish(),
    lastCheckedAt: Timestamp.nullish(),
    completionDate: Timestamp.nullish(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    exclusion: ComplianceCheckExclusion.nullish().describe('Only for an excluded check.'),
  })
  .meta({
    id: 'ComplianceCheckWithExclusionResponsePublicV2Dto',
    description: 'A compliance check of a person.',
  })
export type ComplianceCheck = z.infer<typeof ComplianceCheck>

/** A person of the account. */
export const Person = z
  .object({
    id: Id,
    userId: Id,
    user: UserCompact.optional().describe('On request (`expand[]`).'),
    employmentStatus: EmploymentStatus,
    notHumanReason: z.string().nullish().describe('Why the person is out of scope.'),
    reasonProvider: UserCompact.nullish().describe('The user who gave that reason, on request (`expand[]`).'),
    complianceChecks: z.array(ComplianceCheck).optional().describe('On request (`expand[]`).'),
    startedAt: Timestamp.nullable(),
    separatedAt: Timestamp.nullish(),
    statusUpdatedAt: Timestamp.nullable().describe(
      'When the status was set by hand. While it is set, identity sync does not change the status.',
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    customFields: z.array(CustomFieldValue).optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'PersonResponsePublicV2Dto', description: 'A person who works, worked or will work for the account.' })
export type Person = z.infer<typeof Person>

const PersonnelPage = page(Person).meta({ id: 'PersonnelResponsePublicV2Dto' })

/** What an edit by hand changes. A field that is left out stays. */
export const PersonnelModify = z
  .object({
    startedAt: SubmittedDay.optional().describe('The first day, as a date or a time.'),
    separatedAt: SubmittedDay.optional().describe('The last day, as a date or a time.'),
    employmentStatus: EmploymentStatus.optional(),
    notHumanReason: text(maxLongTextLength)
      .min(1)
      .refine((reason) => reason.trim() !== '', { error: 'must not be blank' })
      .optional()
      .describe('Why the person is out of scope. Required when the status becomes `OUT_OF_SCOPE`.'),
    customFields: z.array(CustomFieldSubmit).optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), { error: 'needs at least one field' })
  .meta({ id: 'PersonnelModifyRequestPublicV2Dto' })
export type PersonnelModify = z.infer<typeof PersonnelModify>

const PersonnelAction = z.enum(['reset-sync', 'reset-sync-all']).meta({ id: 'PersonnelActionEnum' })

/** The people that identity sync updates again. */
export const PersonnelReset = z
  .object({
    action: PersonnelAction.describe('`reset-sync` for the people named, `reset-sync-all` for everybody.'),
    personnelIds: z.array(Id).optional().describe('Required for `reset-sync`, not allowed for `reset-sync-all`.'),
  })
  .meta({ id: 'PersonnelActionsRequestPublicV2Dto' })
export type PersonnelReset = z.infer<typeof PersonnelReset>

const PersonnelResetResult = z
  .object({ count: z.int().min(0).describe('The number of people whom identity sync updates again.') })
  .meta({ id: 'PersonnelActionsResponsePublicV2Dto' })

/** A person in a path: the id, or the user's e-mail address after `email:`. */
export const PersonRef = z.union([Id, z.templateLiteral(['email:', z.string().min(1)])], {
  error: 'must be a number, or an address that begins with email:',
})
export type PersonRef = z.infer<typeof PersonRef>

const expand = expandQuery(PersonnelExpand)

/** The operations on the people of the account. */
export const personnel = operations({
  listPersonnel: {
    method: 'GET',
    path: '/personnel',
    summary: 'List Personnel',
    description: 'The people of the account.',
    permission: 'personnel-get',
    query: z.object({
      ...listQuery,
      ...expand,
      'employmentStatus[]': z.array(EmploymentStatus).optional().describe('Only people with one of these statuses.'),
      'complianceStatus[]': z
        .array(ComplianceCheckStatus)
        .optional()
        .describe('Only people whose full compliance has one of these statuses.'),
    }),
    success: { 200: PersonnelPage },
    errors: [400, 401, 403, 412, 500],
  },
  getPersonnel: {
    method: 'GET',
    path: '/personnel/:personnelId',
    summary: 'Get Personnel',
    description: 'One person.',
    permission: 'personnel-get-personnel-details',
    params: z.object({ personnelId: PersonRef }),
    query: z.object(expand),
    success: { 200: Person },
    errors: [400, 401, 403, 404, 412, 500],
  },
  updatePersonnel: {
    method: 'PUT',
    path: '/personnel/:personnelId',
    summary: 'Update Personnel',
    description: 'Edit a person by hand. Identity sync leaves the edited fields alone until it is reset.',
    permission: 'personnel-put',
    params: z.object({ personnelId: PersonRef }),
    body: PersonnelModify,
    success: { 200: Person },
    errors: [400, 401, 403, 404, 412, 500],
  },
  resetPersonnelSync: {
    method: 'POST',
    path: '/personnel/actions',
    summary: 'Reset Personnel Sync',
    description: 'Let identity sync update people again who were edited by hand.',
    permission: 'personnel-put-reset-resync',
    body: PersonnelReset,
    success: { 201: PersonnelResetResult },
    errors: [400, 401, 403, 409, 412, 500],
  },
})
