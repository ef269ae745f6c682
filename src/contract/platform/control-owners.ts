import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id, listQuery, maxShortTextLength, page, text, UserCompact } from './common.ts'

const maxIncludedUsers = 300

const ControlOwnerCreate = z
  .object({ ownerId: Id.describe('A user of the account.') })
  .meta({ id: 'ControlOwnerCreateRequestPublicV2Dto' })

const ControlOwnersModify = z
  .object({ ownerUserIds: z.array(Id).describe('All owners; an empty list removes all.') })
  .meta({ id: 'ControlOwnerModifyRequestPublicV2Dto' })

const ControlOwnersModified = z
  .object({ ownerIds: z.array(Id).describe('All owners of the control.') })
  .meta({ id: 'ControlOwnersModifyResponsePublicV2Dto' })

const ControlOwnerPage = page(UserCompact).meta({ id: 'ControlOwnersResponsePublicV2Dto' })

const params = z.object({ workspaceId: Id, controlId: Id })

/** The operations on control owners. */
export const controlOwners = operations({
  listControlOwners: {
    method: 'GET',
    path: '/workspaces/:workspaceId/controls/:controlId/owners',
    summary: 'List Control Owners',
    description: 'The owners of a control.',
    permission: 'controls-get-control',
    params,
    query: z.object({
      ...listQuery,
      frameworkSlug: text(maxShortTextLength)
        .optional()
        .describe('Only users who own a control of the workspace that serves this framework.'),
      'includeUserIds[]': z
        .array(Id)
        .min(1)
        .max(maxIncludedUsers)
        .optional()
        .describe('Only these users; by default all. A blank or `null` is refused.'),
      excludeUserIds: z.array(Id).optional().describe('Excludes these users.'),
    }),
    success: { 200: ControlOwnerPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  addControlOwner: {
    method: 'POST',
    path: '/workspaces/:workspaceId/controls/:controlId/owners',
    summary: 'Add Control Owner',
    description: 'Add an owner to a control. An existing owner stays an owner.',
    permission: 'controls-put-owners',
    params,
    body: ControlOwnerCreate,
    success: { 201: UserCompact },
    errors: [400, 401, 403, 404, 412, 500],
  },
  modifyControlOwners: {
    method: 'PUT',
    path: '/workspaces/:workspaceId/controls/:controlId/owners',
    summary: 'Modify Control Owners',
    description: 'Replace all owners of a control.',
    permission: 'controls-put-owners',
    params,
    body: ControlOwnersModify,
    success: { 200: ControlOwnersModified },
    errors: [400, 401, 403, 404, 412, 500],
  },
  deleteControlOwner: {
    method: 'DELETE',
    path: '/workspaces/:workspaceId/controls/:controlId/owners/:ownerId',
    summary: 'Delete Control Owner',
    description: 'Remove an owner from a control. Returns the first page of the remaining owners.',
    permission: 'controls-delete-owners',
    params: z.object({ workspaceId: Id, controlId: Id, ownerId: Id }),
    success: { 200: ControlOwnerPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
