import { z } from 'zod'
import { operations } from '../operation.ts'
import { BackgroundCheck } from './background-checks.ts'
import { expandQuery, Id, listQuery, maxShortTextLength, page, Timestamp, text } from './common.ts'
import { PersonRef } from './personnel.ts'

/** The expansions of users. */
export const UserExpand = z
  .enum(['backgroundChecks', 'documents', 'personnel', 'identities', 'roles'])
  .meta({ id: 'UserExpandEnum' })
export type UserExpand = z.infer<typeof UserExpand>

/** A connection in the short form. */
export const ConnectionCompact = z
  .object({
    id: Id,
    clientType: z
      .string()
      .describe('The connected system. Connections of this platform are `CUSTOM`, `CUSTOM_MDM` or `CUSTOM_HRIS`.'),
    clientId: z.string().nullable(),
    clientAlias: z.string().nullable().describe('The display name.'),
    state: z.enum(['ACTIVE', 'MISCONFIGURED']),
    createdAt: Timestamp.nullable(),
    updatedAt: Timestamp.nullable(),
    connectedAt: Timestamp.nullable(),
    failedAt: Timestamp.nullable(),
    deletedAt: Timestamp.nullable(),
  })
  .meta({ id: 'ConnectionCompactResponsePublicV2Dto', description: 'A connection in the short form.' })
export type ConnectionCompact = z.infer<typeof ConnectionCompact>

/** The address of a file. */
export const SignedUrl = z
  .object({ signedUrl: z.string(), fileBuffer: z.record(z.string(), z.unknown()).nullable() })
  .meta({ id: 'SignedUrlResponsePublicV2Dto', description: 'A temporary address of a file.' })
export type SignedUrl = z.infer<typeof SignedUrl>

/** The kinds of documents about users. */
export const UserDocumentType = z.enum([
  'SEC_TRAINING',
  'PASSWORD_MANAGER_EVIDENCE',
  'AUTO_UPDATES_EVIDENCE',
  'HARD_DRIVE_ENCRYPTION_EVIDENCE',
  'ANTIVIRUS_EVIDENCE',
  'LOCK_SCREEN_EVIDENCE',
  'MFA_EVIDENCE',
  'HIPAA_TRAINING_EVIDENCE',
  'OFFBOARDING_EVIDENCE',
  'NIST_AI_TRAINING_EVIDENCE',
])
export type UserDocumentType = z.infer<typeof UserDocumentType>

/** A document about a user. */
export const UserDocument = z
  .object({
    id: Id,
    userId: Id,
    downloadUrl: SignedUrl.optional(),
    name: z.string(),
    type: UserDocumentType,
    fileUrl: z.string().nullable(),
    renewalDate: z.iso.date().describe('The last day on which the document proves anything.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'UserDocumentResponsePublicV2Dto', description: 'A document about a user.' })
export type UserDocument = z.infer<typeof UserDocument>

/** A record of a connected system about a user. */
export const UserIdentity = z
  .object({
    id: Id,
    identityId: z.string().describe('The key of the record in its system.'),
    username: z.string().nullable(),
    connectedAt: Timestamp.nullable(),
    disconnectedAt: Timestamp.nullable(),
    hasMfa: z.boolean().nullable(),
    userId: Id.nullable(),
    connectionId: Id.nullable(),
    connection: ConnectionCompact,
    email: z.string().nullable(),
    secondaryEmail: z.string().nullable(),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    startedAt: Timestamp.nullable(),
    separatedAt: Timestamp.nullable().describe('Null while the person is employed.'),
    isContractor: z.boolean().nullish().describe('Null if unknown.'),
    jobTitle: z.string().nullable(),
    managerId: z.string().nullable(),
    managerName: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({
    id: 'UserIdentityResponsePublicV2Dto',
    description: 'A record of a connected system about the user.',
  })
export type UserIdentity = z.infer<typeof UserIdentity>

/** A user of the account. */
export const User = z
  .object({
    id: Id,
    email: z.string(),
    firstName: z.string().nullish(),
    lastName: z.string().nullish(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    jobTitle: z.string().nullish().describe('From the leading HR record of the person.'),
    avatarUrl: z.string().nullish(),
    drataTermsAgreedAt: Timestamp.nullish().describe('When the user agreed to the terms in person.'),
    roles: z.array(z.string()).optional().describe('On request (`expand[]`).'),
    backgroundChecks: z.array(BackgroundCheck).nullish().describe('On request (`expand[]`).'),
    documents: z.array(UserDocument).optional().describe('On request (`expand[]`).'),
    identities: z.array(UserIdentity).optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'UserResponsePublicV2Dto', description: 'A user of the account: a person, or an API key.' })
export type User = z.infer<typeof User>

/** A page of users. */
export const UserPage = page(User).meta({ id: 'UsersResponsePublicV2Dto' })

const expand = expandQuery(UserExpand)
const prefix = text(maxShortTextLength).optional()

/** The filters of a list of users by name. */
export const nameQuery = {
  firstName: prefix.describe('Only users whose first name begins like this; case does not matter.'),
  lastName: prefix.describe('Only users whose last name begins like this; case does not matter.'),
}

/** The operations on users: people, and the service users of API keys. */
export const users = operations({
  listUsers: {
    method: 'GET',
    path: '/users',
    summary: 'List Users',
    description: 'The users of the account.',
    permission: 'users-get',
    query: z.object({ ...listQuery, ...expand, ...nameQuery }),
    success: { 200: UserPage },
    errors: [400, 401, 403, 412, 500],
  },
  getUser: {
    method: 'GET',
    path: '/users/:userId',
    summary: 'Get User',
    description: 'One user.',
    permission: 'user-get',
    params: z.object({ userId: PersonRef }),
    query: z.object(expand),
    success: { 200: User },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
