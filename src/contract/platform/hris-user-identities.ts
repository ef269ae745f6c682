import { z } from 'zod'
import { operations } from '../operation.ts'
import {
  Email,
  Id,
  listQuery,
  maxShortTextLength,
  page,
  ResponseEmail,
  SubmittedTimestamp,
  Timestamp,
  text,
} from './common.ts'

const entitlement = 'CUSTOM_CONNECTIONS_AND_TESTS'
const maxBatchSize = 1000
const identityKeyPrefix = 'identity-id:'

const shortText = text(maxShortTextLength).nullish()

const identityFields = {
  email: Email.nullish().describe('The main e-mail address, by which identity sync finds the person.'),
  secondaryEmail: Email.nullish().describe('A second e-mail address.'),
  firstName: shortText.describe('The given name.'),
  lastName: shortText.describe('The family name.'),
  jobTitle: shortText.describe('The job title.'),
  managerId: shortText.describe("The manager's own `identityId`, not a user of the platform."),
  managerName: shortText.describe("The manager's full name."),
  startedAt: SubmittedTimestamp.nullish().describe('First day of employment.'),
  separatedAt: SubmittedTimestamp.nullish().describe(
    'Last day of employment; how a leaver is recorded. Written once: another date is ignored until null has cleared this one.',
  ),
  isContractor: z
    .boolean()
    .nullish()
    .describe('True for contractors, false for employees. While it is null the employment status is unknown.'),
}

/** One person as HR sends them. */
export const IdentityRecord = z
  .object({
    identityId: text(maxShortTextLength)
      .min(1)
      .describe('The stable key of the person in HR, unique within the connection.'),
    ...identityFields,
  })
  .meta({
    id: 'CustomUserIdentityRecordPublicV2Dto',
    description: 'One person. A field that is left out keeps its value; null clears it.',
  })
export type IdentityRecord = z.infer<typeof IdentityRecord>

/** Changes of one identity. */
export const IdentityUpdate = z
  .object({
    identityId: text(maxShortTextLength).min(1).optional().describe('When given, it must be the key of the record.'),
    ...identityFields,
  })
  .refine(namesAField, { error: 'must name at least one field to update' })
  .meta({
    id: 'CustomUserIdentityUpdateRequestPublicV2Dto',
    description: 'At least one field. One that is left out keeps its value, null clears it.',
  })
export type IdentityUpdate = z.infer<typeof IdentityUpdate>

/** A stored identity. */
export const Identity = z
  .object({
    id: Id.describe('The id from the platform.'),
    identityId: z.string().describe('The key in HR.'),
    email: ResponseEmail.nullable(),
    secondaryEmail: ResponseEmail.nullable(),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    jobTitle: z.string().nullable(),
    managerId: z.string().nullable(),
    managerName: z.string().nullable(),
    startedAt: Timestamp.nullable(),
    separatedAt: Timestamp.nullable().describe('Last day of employment; null for people who have not left.'),
    isContractor: z.boolean().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'CustomUserIdentityResponsePublicV2Dto' })
export type Identity = z.infer<typeof Identity>

const IdentityPage = page(Identity).meta({ id: 'CustomUserIdentitiesResponsePublicV2Dto' })

/** The result of one item of a batch. */
export const ItemResult = z
  .object({
    statusCode: z.int().describe('201: created. 200: updated, restored, or nothing to change. 400: refused.'),
    data: Identity.nullable().describe('The stored record; null for a refused item and for one that changed nothing.'),
    error: z.object({ message: z.string() }).optional().describe('Why the item was refused.'),
  })
  .meta({ id: 'CustomUserIdentityBulkResponsePublicV2Dto' })
export type ItemResult = z.infer<typeof ItemResult>

const ItemResults = z.array(ItemResult).describe('One result for each item, in the order of the request.')

/** An identity in a path: its id, or HR's key after `identity-id:`. */
export const IdentityRef = z.union([Id, z.templateLiteral([identityKeyPrefix, z.string().min(1)])], {
  error: 'must be a number, or a key that begins with identity-id:',
})
export type IdentityRef = z.infer<typeof IdentityRef>

/** The reference to an identity by HR's key. */
export function byIdentityId(identityId: string): IdentityRef {
  return `${identityKeyPrefix}${identityId}`
}

/** HR's key in a reference, or null for a reference by id. */
export function identityIdOf(reference: IdentityRef): string | null {
  return typeof reference === 'number' ? null : reference.slice(identityKeyPrefix.length)
}

const connectionPath = z.object({ connectionId: Id })
const identityPath = z.object({ connectionId: Id, userIdentityId: IdentityRef })

/** The operations on the people of an HRIS connection. */
export const hrisUserIdentities = operations({
  listHrisUserIdentities: {
    method: 'GET',
    path: '/custom-connections/:connectionId/hris-user-identities',
    summary: 'List HRIS User Identities',
    description: 'The people of a connection with leavers, without deleted ones.',
    permission: 'user-identities-hris-get',
    entitlement,
    params: connectionPath,
    query: z.object(listQuery),
    success: { 200: IdentityPage },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  upsertHrisUserIdentities: {
    method: 'POST',
    path: '/custom-connections/:connectionId/hris-user-identities',
    summary: 'Create or Update HRIS User Identities',
    description:
      'Create or update up to 1000 people. An invalid item does not stop the others. The status is 201 when all were created, 200 when none failed, 207 otherwise.',
    permission: 'user-identity-hris-post',
    entitlement,
    params: connectionPath,
    body: z.array(z.unknown()).min(1).max(maxBatchSize),
    item: IdentityRecord,
    success: { 200: ItemResults, 201: ItemResults, 207: ItemResults },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  getHrisUserIdentity: {
    method: 'GET',
    path: '/custom-connections/:connectionId/hris-user-identities/:userIdentityId',
    summary: 'Get HRIS User Identity',
    description: 'One person of a connection.',
    permission: 'user-identity-hris-get',
    entitlement,
    params: identityPath,
    success: { 200: Identity },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  updateHrisUserIdentity: {
    method: 'PUT',
    path: '/custom-connections/:connectionId/hris-user-identities/:userIdentityId',
    summary: 'Update HRIS User Identity',
    description: 'Update one person, for example to record that they left.',
    permission: 'user-identity-hris-put',
    entitlement,
    params: identityPath,
    body: IdentityUpdate,
    success: { 200: Identity },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  deleteHrisUserIdentity: {
    method: 'DELETE',
    path: '/custom-connections/:connectionId/hris-user-identities/:userIdentityId',
    summary: 'Delete HRIS User Identity',
    description:
      'Delete a person who was sent in error. For wrong data, never for leavers. Sending the same key again restores the record.',
    permission: 'user-identity-hris-delete',
    entitlement,
    params: identityPath,
    success: { 204: null },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
})

function namesAField(update: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(update).some((name) => name !== 'identityId')
}
