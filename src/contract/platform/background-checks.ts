import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id, maxUrlLength, Timestamp, text } from './common.ts'
import { BackgroundCheckType } from './company-choices.ts'
import { EmploymentStatus } from './personnel.ts'

const firstYear = '1000'

const FiledDate = z.iso
  .date({ error: 'must be a day, such as 2026-01-31' })
  .refine((day) => day >= firstYear, { error: `must not lie before the year ${firstYear}` })

const BackgroundCheckSource = z.enum([
  'DRATA',
  'CHECKR',
  'KARMACHECK',
  'RIPPLING_CHECKR',
  'CERTN',
  'STERLING',
  'HIRERIGHT',
  'VETTY',
])

/** A background check of a user. */
export const BackgroundCheck = z
  .object({
    id: Id,
    userId: Id.nullable(),
    status: z.enum(['PENDING', 'OK', 'ISSUE', 'CANCELED', 'EXPIRED', 'OUT_OF_SCOPE']),
    caseId: z.string().nullable().describe('The case of the agency that checked; null for a check by hand.'),
    caseInvitationId: z.string().describe("The agency's invitation; empty for a check by hand."),
    url: z.string(),
    manualCheckDate: z.iso.date().nullable().describe('When a check by hand was completed.'),
    manuallyCheckUrl: z.string().nullable().describe('Where the report of a check by hand is.'),
    type: BackgroundCheckType,
    source: BackgroundCheckSource.nullable(),
    reportData: z.string().describe("The agency's report; empty for a check by hand."),
    outOfScopeReason: z.string().nullable(),
    outOfScopeAt: Timestamp.nullable(),
    invitationEmail: z.string().nullable(),
    linkedAt: Timestamp.nullable().describe('When the check was linked to the user.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'BackgroundCheckResponsePublicV2Dto', description: 'A background check of a person.' })
export type BackgroundCheck = z.infer<typeof BackgroundCheck>

/** A new background check. */
export const BackgroundCheckCreate = z
  .object({
    userId: Id.describe('The id of the user, not of the personnel entry.'),
    filedAt: FiledDate.describe('The day on which the check was completed.'),
    url: text(maxUrlLength)
      .check(z.url({ protocol: /^https?$/, error: 'must be a web address' }))
      .describe('The address of the report. The platform stores it and never opens it.'),
    fileKey: z
      .never({ error: 'is not accepted: this server takes no uploads; give the address of the report as url' })
      .optional(),
  })
  .meta({ id: 'BackgroundCheckCreateRequestPublicV2Dto' })
export type BackgroundCheckCreate = z.infer<typeof BackgroundCheckCreate>

/** A person in the short form. */
export const PersonCompact = z
  .object({
    id: Id.describe('The personnel entry.'),
    employmentStatus: EmploymentStatus,
    userId: Id,
    email: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'PersonCompactResponsePublicV2Dto', description: 'A person in the short form.' })
export type PersonCompact = z.infer<typeof PersonCompact>

/** The operations on background checks that were made elsewhere. */
export const backgroundChecks = operations({
  createBackgroundCheck: {
    method: 'POST',
    path: '/background-checks',
    summary: 'Create Manual Background Check',
    description: 'Record a background check of a person. It makes the person compliant with the requirement.',
    permission: 'background-check-post',
    body: BackgroundCheckCreate,
    success: { 201: PersonCompact },
    errors: [400, 401, 403, 404, 409, 412, 500],
  },
})
