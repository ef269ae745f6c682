import { z } from 'zod'
import { operations } from '../operation.ts'
import { Timestamp } from './common.ts'
import { BackgroundCheckType, HipaaTrainingType, Language, SecurityTrainingType } from './company-choices.ts'

const Entitlement = z.object({
  name: z.string().optional(),
  description: z.string().optional(),
  type: z.string().optional().describe('The name by which operations ask for the feature.'),
  featureId: z.number().nullish(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** The company of the account. */
export const Company = z
  .object({
    accountId: z.string().describe('A UUID, which stays the same for the life of the account.'),
    domain: z.string(),
    name: z.string().describe('The common name.'),
    legalName: z.string().nullable(),
    description: z.string().nullable(),
    logoUrl: z.string().nullable(),
    securityTraining: SecurityTrainingType.nullable().describe('How people are trained in security.'),
    hipaaTraining: HipaaTrainingType.nullable().describe('How people are trained in HIPAA.'),
    backgroundCheck: BackgroundCheckType.nullable().describe('Who checks the background of new people.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    agentEnabled: z.boolean().describe('Whether an agent watches workstations.'),
    manualUploadEnabled: z.boolean().describe('Whether people may upload documents by hand.'),
    entitlements: z.array(Entitlement).describe('The features of the plan.'),
    language: Language,
  })
  .meta({ id: 'CompanyResponsePublicV2Dto', description: 'The company that the account belongs to.' })
export type Company = z.infer<typeof Company>

/** The operations on the company. */
export const company = operations({
  getCompany: {
    method: 'GET',
    path: '/company',
    summary: 'Get Company',
    description: 'The company that the account belongs to.',
    permission: 'company-settings-get-info',
    success: { 200: Company },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
