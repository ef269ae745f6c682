import { z } from 'zod'
import { Id, Timestamp } from './common.ts'
import { BackgroundCheckType } from './company-choices.ts'

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
    linkedAt: Timestamp.nullable().describe('When the check was connected with the user.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'BackgroundCheckResponsePublicV2Dto', description: "What was found about somebody's past." })
export type BackgroundCheck = z.infer<typeof BackgroundCheck>
