import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id, listQuery, maxShortTextLength, page, SubmittedTimestamp, text } from './common.ts'
import { documentExpand, fileFields } from './documents.ts'
import { UserDocument, UserDocumentType } from './users.ts'

/** A new document about a user. */
export const UserDocumentCreate = z
  .object({
    type: z.enum(['MFA_EVIDENCE', 'SEC_TRAINING', 'HIPAA_TRAINING_EVIDENCE', 'OFFBOARDING_EVIDENCE']),
    ...fileFields,
    completionDate: SubmittedTimestamp.optional().describe('When that was completed; by default now.'),
  })
  .meta({ id: 'UserDocumentCreateRequestPublicV2Dto' })
export type UserDocumentCreate = z.infer<typeof UserDocumentCreate>

const userPath = z.object({ userId: Id })
const documentPath = z.object({ userId: Id, documentId: Id })
const expand = documentExpand('UserDocumentExpandEnum')

/** The operations on documents that prove something about a user. */
export const userDocuments = operations({
  listUserDocuments: {
    method: 'GET',
    path: '/users/:userId/documents',
    summary: 'List User Documents',
    description: 'The documents about a user.',
    permission: 'users-get-documents',
    params: userPath,
    query: z.object({
      ...listQuery,
      ...expand,
      name: text(maxShortTextLength).optional().describe('Only documents with this in their name, in any case.'),
      type: UserDocumentType.optional(),
    }),
    success: { 200: page(UserDocument).meta({ id: 'UserDocumentsResponsePublicV2Dto' }) },
    errors: [400, 401, 403, 404, 412, 500],
  },
  createUserDocument: {
    method: 'POST',
    path: '/users/:userId/documents',
    summary: 'Upload User Document',
    description:
      'Upload a document about a user. It makes the matching compliance check of the person pass for a year.',
    permission: 'users-post-document',
    params: userPath,
    body: UserDocumentCreate,
    takesForms: true,
    success: { 201: UserDocument },
    errors: [400, 401, 403, 404, 412, 413, 500, 503],
  },
  getUserDocument: {
    method: 'GET',
    path: '/users/:userId/documents/:documentId',
    summary: 'Get User Document',
    description: 'One document about a user.',
    permission: 'users-get-documents',
    params: documentPath,
    query: z.object(expand),
    success: { 200: UserDocument },
    errors: [400, 401, 403, 404, 412, 500],
  },
  deleteUserDocument: {
    method: 'DELETE',
    path: '/users/:userId/documents/:documentId',
    summary: 'Delete User Document',
    description: 'Delete a document about a user, with its file.',
    permission: 'users-delete-document',
    params: documentPath,
    success: { 200: null },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
