import { z } from 'zod'
import { operations } from '../operation.ts'
import {
  Id,
  listQuery,
  maxShortTextLength,
  page,
  Timestamp,
  text,
  uncountedListQuery,
  uncountedPage,
} from './common.ts'

/** A group of people that came with an identity provider. */
export const GroupCompact = z
  .object({
    id: Id,
    name: z.string(),
    externalId: z.string().describe('The key of the group at its identity provider.'),
    source: z.string().describe('The kind of identity provider, such as `OKTA_IDENTITY`. Deprecated.'),
    connectionId: Id.nullish().describe('The connection of the identity provider.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'GroupCompactResponsePublicV2Dto', description: 'A group of people at an identity provider.' })
export type GroupCompact = z.infer<typeof GroupCompact>

const GroupPage = page(GroupCompact).meta({ id: 'GroupsListResponsePublicV2Dto' })

/** A group in the scope of a workspace. */
export const ScopedGroup = z
  .object({
    id: Id.describe('The id of the group.'),
    name: z.string(),
    connectionProvider: z.string().nullable().describe('The kind of its identity provider.'),
  })
  .meta({ id: 'ScopedPersonnelGroupItemResponsePublicV2Dto', description: 'A group in the scope of a workspace.' })
export type ScopedGroup = z.infer<typeof ScopedGroup>

const ScopedGroupPage = uncountedPage(ScopedGroup).meta({ id: 'ScopedPersonnelGroupsListResponsePublicV2Dto' })

const ScopedGroupAdd = z.object({ groupId: Id }).meta({ id: 'ScopedPersonnelGroupsPostRequestPublicV2Dto' })

const ScopedGroupReplace = z
  .object({ groupIds: z.array(Id).describe('All groups of the scope. An empty list removes the scope.') })
  .meta({ id: 'ScopedPersonnelGroupsPutRequestPublicV2Dto' })

const ScopedCounts = z
  .object({
    scopedPersonnelCount: z.int().min(0).describe('Active people in the groups of the scope, each counted once.'),
    totalPersonnelCount: z.int().min(0).describe('Active people in any group of the account.'),
  })
  .meta({ id: 'ScopedPersonnelCountsResponsePublicV2Dto' })

const workspace = z.object({ workspaceId: Id })
const scopePath = '/workspaces/:workspaceId/scoped-personnel-groups'
const errors = [400, 401, 403, 404, 412, 500] as const

/** The operations on groups, and on the groups in the scopes of workspaces. */
export const groups = operations({
  listGroups: {
    method: 'GET',
    path: '/groups',
    summary: 'List Groups',
    description: 'The groups of people of the account.',
    permission: 'personnel-get',
    query: z.object({
      ...listQuery,
      q: text(maxShortTextLength)
        .optional()
        .describe('Only groups with this text in their name; case does not matter.'),
    }),
    success: { 200: GroupPage },
    errors: [400, 401, 403, 412, 500],
  },
  listScopedGroups: {
    method: 'GET',
    path: scopePath,
    summary: 'List Workspace Scoped Personnel Groups',
    description: 'The groups in the scope of a workspace.',
    permission: 'workspace-personnel-scope-get',
    params: workspace,
    query: z.object(uncountedListQuery),
    success: { 200: ScopedGroupPage },
    errors,
  },
  addScopedGroup: {
    method: 'POST',
    path: scopePath,
    summary: 'Add Personnel Group To Workspace Scope',
    description: 'Add one group to the scope of a workspace.',
    permission: 'workspace-personnel-scope-update',
    params: workspace,
    body: ScopedGroupAdd,
    success: { 201: ScopedGroup },
    errors: [...errors, 409],
  },
  replaceScopedGroups: {
    method: 'PUT',
    path: scopePath,
    summary: 'Replace Workspace Scoped Personnel Groups',
    description: 'Make these groups the whole scope of a workspace.',
    permission: 'workspace-personnel-scope-update',
    params: workspace,
    body: ScopedGroupReplace,
    success: { 204: null },
    errors,
  },
  removeScopedGroup: {
    method: 'DELETE',
    path: `${scopePath}/:groupId`,
    summary: 'Remove Personnel Group From Workspace Scope',
    description: 'Remove one group from the scope of a workspace.',
    permission: 'workspace-personnel-scope-delete',
    params: workspace.extend({ groupId: Id }),
    success: { 204: null },
    errors,
  },
  getScopedCounts: {
    method: 'GET',
    path: '/workspaces/:workspaceId/scoped-personnel-counts',
    summary: 'Get Workspace Scoped Personnel Counts',
    description: 'How many people the scope of a workspace holds.',
    permission: 'workspace-personnel-scope-get',
    params: workspace,
    success: { 200: ScopedCounts },
    errors,
  },
})
