import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, Id, listQuery, maxLongTextLength, page, SubmittedTimestamp, Timestamp, text } from './common.ts'
import { PersonRef } from './personnel.ts'

const Expand = z.enum(['policy', 'policyVersion']).meta({ id: 'UserPoliciesExpandEnum' })

/** Whom a policy is for. */
export const PolicyScope = z.enum(['ALL', 'GROUP', 'NONE']).meta({ id: 'PolicyScopeEnum' })
export type PolicyScope = z.infer<typeof PolicyScope>

/** Where the acknowledgement of a policy came from. */
export const AcknowledgementSource = z
  .enum(['UNKNOWN', 'BAMBOO_HR', 'CSV', 'MY_DRATA', 'PUBLIC_API'])
  .meta({ id: 'PolicyApprovalsSourceTypeEnum' })
export type AcknowledgementSource = z.infer<typeof AcknowledgementSource>

const PolicyCompact = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    assignedTo: PolicyScope.optional(),
    policyStatus: z
      .enum(['ACTIVE', 'ARCHIVED', 'REPLACED', 'UNACCEPTABLE', 'OUTDATED'])
      .meta({ id: 'PolicyStatusEnum' }),
    renewalDate: z.string().nullable(),
  })
  .meta({ id: 'PolicyCompactResponsePublicV2Dto', description: 'A policy in the short form.' })

const PolicyVersionCompact = z
  .object({
    id: Id,
    version: z.int(),
    subVersion: z.int(),
    current: z.boolean(),
    type: z.enum(['BUILDER', 'UPLOADED', 'EXTERNAL']).meta({ id: 'PolicyTypeEnum' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    renewalDate: z.string(),
    description: z.string().nullable(),
    approvedAt: Timestamp.nullable(),
    changesExplanation: z.string().nullable(),
    publishedAt: Timestamp.nullable(),
    requiresAcknowledgment: z.boolean().nullable(),
  })
  .meta({ id: 'PolicyVersionCompactResponsePublicV2Dto', description: 'A version of a policy in the short form.' })

/** The newest version of a policy, as it is assigned to a user. */
export const AssignedPolicy = z
  .object({
    id: Id,
    acceptedAt: Timestamp.nullable().describe('Null until the user has acknowledged this version.'),
    createdAt: Timestamp.nullable(),
    updatedAt: Timestamp.nullable(),
    sourceType: AcknowledgementSource.describe('Where the acknowledgement came from; `UNKNOWN` before it.'),
    details: z.string().nullable(),
    policyId: Id,
    policyVersionId: Id,
    policy: PolicyCompact.optional().describe('On request (`expand[]`).'),
    policyVersion: PolicyVersionCompact.optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'UserPolicyVersionResponsePublicV2Dto', description: 'A policy that is assigned to a user.' })
export type AssignedPolicy = z.infer<typeof AssignedPolicy>

/** The acknowledgement of a policy. */
export const PolicyAcceptance = z
  .object({
    acceptedAt: SubmittedTimestamp.describe('When the user acknowledged it; within the last year.'),
    details: text(maxLongTextLength).optional(),
  })
  .meta({ id: 'UserPolicyAcceptRequestPublicV2Dto' })
export type PolicyAcceptance = z.infer<typeof PolicyAcceptance>

/** The operations on the policies that are assigned to users. */
export const assignedPolicies = operations({
  listAssignedPolicies: {
    method: 'GET',
    path: '/users/:userId/assigned-policies',
    summary: "Get User's Assigned Policy details",
    description: 'The policies that are assigned to a user, each in its newest version.',
    permission: 'user-policies-get-user-policies',
    params: z.object({ userId: PersonRef }),
    query: z.object({ ...listQuery, ...expandQuery(Expand) }),
    success: { 200: page(AssignedPolicy).meta({ id: 'UserPolicyVersionsResponsePublicV2Dto' }) },
    errors: [400, 401, 403, 404, 412, 500],
  },
  acknowledgePolicy: {
    method: 'POST',
    path: '/users/:userId/assigned-policies/:policyId/action-acknowledge',
    summary: "Acknowledge User's Assigned Policy",
    description: 'Record that a user has acknowledged the newest version of a policy that is assigned to them.',
    permission: 'user-policies-acknowledge-policy-version',
    params: z.object({ userId: PersonRef, policyId: Id }),
    body: PolicyAcceptance,
    success: { 201: AssignedPolicy },
    errors: [400, 401, 403, 404, 409, 412, 500],
  },
})
