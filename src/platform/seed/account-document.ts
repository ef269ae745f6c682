import { z } from 'zod'
import { PolicyScope } from '../../contract/platform/assigned-policies.ts'
import { Email, maxShortTextLength, maxUrlLength, text } from '../../contract/platform/common.ts'
import {
  BackgroundCheckType,
  HipaaTrainingType,
  Language,
  SecurityTrainingType,
} from '../../contract/platform/company-choices.ts'
import { CustomFieldEntity, CustomFieldType } from '../../contract/platform/custom-field-kinds.ts'
import { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { RoleName } from '../../contract/platform/roles.ts'
import { AccountInput } from '../accounts/contract.ts'
import { NewAudit } from '../audits/audit-input.ts'
import { ProvidedGroup, Provider } from '../company/group-input.ts'
import { Code, Day, LongText, Name } from '../core/input-texts.ts'
import { FrameworkSlug, maxPromptLength } from './library-document.ts'

const Prompt = text(maxPromptLength).min(1)
const Address = text(maxUrlLength).min(1)

/** The company of an account in a seed. */
export const SeedCompany = z.strictObject({
  domain: Name,
  legalName: Name.nullable().default(null),
  description: LongText.nullable().default(null),
  logoUrl: Address.nullable().default(null),
  securityTraining: SecurityTrainingType.nullable().default(null),
  hipaaTraining: HipaaTrainingType.nullable().default(null),
  backgroundCheck: BackgroundCheckType.nullable().default(null),
  agentEnabled: z.boolean().default(false),
  manualUploadEnabled: z.boolean().default(true),
  language: Language.default('ENGLISH_US'),
})
export type SeedCompany = z.infer<typeof SeedCompany>

const SeedPerson = z.strictObject({
  email: Email,
  firstName: Name,
  lastName: Name,
  title: Name.nullable().default(null),
  roles: z.array(RoleName).default([]).describe('The roles besides EMPLOYEE.'),
})

/** An identity provider of an account in a seed, with its groups. */
export const SeedProvider = Provider.extend({ groups: z.array(ProvidedGroup).default([]) })
export type SeedProvider = z.infer<typeof SeedProvider>

/** A custom field of an account in a seed. */
export const SeedCustomField = z.strictObject({
  name: Name,
  type: CustomFieldType,
  entityTypes: z.array(CustomFieldEntity).min(1),
  required: z.boolean().default(false),
  description: LongText.nullable().default(null),
  hidden: z.boolean().default(false),
  currencyCode: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .nullable()
    .default(null),
  options: z.array(Name).default([]).describe('The only values of the field; none: every value of its type.'),
})
export type SeedCustomField = z.infer<typeof SeedCustomField>

/** A policy of an account in a seed. */
export const SeedPolicy = z.strictObject({
  name: Name,
  description: LongText,
  template: Name.optional().describe('Its policy template in the library.'),
  assignedTo: PolicyScope.default('NONE'),
  groups: z
    .array(Name)
    .default([])
    .describe('The groups of a policy for GROUP, by their keys at the identity providers.'),
  employmentStatuses: z
    .array(EmploymentStatus)
    .min(1)
    .nullable()
    .default(null)
    .describe('Whom it is for; null: everybody.'),
  version: z.int().min(1).default(1).describe('A higher one has to be acknowledged again.'),
  renewalDate: Day.nullable().default(null).describe('Null: a year after the version was seeded.'),
  requiresAcknowledgment: z.boolean().default(true),
})
export type SeedPolicy = z.infer<typeof SeedPolicy>

/** A test of a workspace in a seed. */
export const SeedTest = z.strictObject({
  name: Name,
  template: Name.optional().describe('Its test template in the library.'),
  status: z.enum(['PASSED', 'FAILED']).default('PASSED'),
  monitored: z.boolean().default(true),
})
export type SeedTest = z.infer<typeof SeedTest>

/** Evidence of a workspace in a seed. */
export const SeedEvidence = z.strictObject({
  name: Name,
  template: Code.optional().describe('Its evidence template in the library.'),
  kind: z.enum(['REPORT', 'EXTERNAL']),
  validUntil: Day.nullable().default(null).describe('The last valid day; null: no end.'),
})
export type SeedEvidence = z.infer<typeof SeedEvidence>

const SeedNote = z.strictObject({ by: Email, comment: text(maxShortTextLength).min(1) })

/**
 * A control of a workspace. The template supplies texts and lists that are left out: the policies, tests and evidence of this account
 * that have templates of the control template, and the requirements of the enabled frameworks.
 */
export const SeedControl = z.strictObject({
  template: Code.optional(),
  code: Code.optional(),
  name: Name.optional(),
  description: LongText.optional(),
  question: Prompt.optional(),
  activity: Prompt.optional(),
  owners: z.array(Email).default([]),
  policies: z.array(Name).optional(),
  tests: z.array(Name).optional(),
  evidence: z.array(Name).optional(),
  requirements: z.record(FrameworkSlug, z.array(Name)).optional(),
  archived: z.strictObject({ rationale: Name }).optional(),
  enabled: z.boolean().default(true),
  ticket: z.enum(['IN_PROGRESS', 'ARCHIVED']).optional(),
  notes: z.array(SeedNote).default([]),
})
export type SeedControl = z.infer<typeof SeedControl>

/** A workspace of an account in a seed. */
export const SeedWorkspace = z.strictObject({
  name: Name,
  primary: z.boolean().default(false),
  description: LongText.nullable().default(null),
  howItWorks: LongText.nullable().default(null),
  url: Address.nullable().default(null),
  scope: z.array(Name).optional().describe('The groups in scope, by their keys at the identity providers.'),
  frameworks: z.array(FrameworkSlug).default([]).describe('Slugs of the frameworks of the library that are enabled.'),
  tests: z.array(SeedTest).default([]),
  evidence: z.array(SeedEvidence).default([]),
  controls: z.array(SeedControl).default([]),
  audits: z.array(NewAudit).default([]),
})
export type SeedWorkspace = z.infer<typeof SeedWorkspace>

/** An account in a seed. */
export const SeedAccount = AccountInput.extend({
  company: SeedCompany.optional(),
  people: z.array(SeedPerson).default([]),
  identityProviders: z.array(SeedProvider).optional(),
  customFields: z.array(SeedCustomField).default([]),
  policies: z.array(SeedPolicy).default([]),
  workspaces: z.array(SeedWorkspace).default([]),
})
export type SeedAccount = z.infer<typeof SeedAccount>

/** The code of a control; by default that of its template. */
export function codeOf({ code, template }: SeedControl): string {
  return code ?? template ?? ''
}
