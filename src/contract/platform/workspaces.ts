import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, Id, listQuery, page, Timestamp } from './common.ts'

const WorkspaceExpand = z.enum(['frameworks', 'personnelScope']).meta({ id: 'WorkspaceExpandEnum' })

/** A framework of a workspace. */
export const Framework = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    enabledAt: Timestamp.nullable(),
  })
  .meta({ id: 'FrameworkCompactResponsePublicV2Dto', description: 'A framework of a workspace.' })
export type Framework = z.infer<typeof Framework>

/** A workspace of the account. */
export const Workspace = z
  .object({
    id: Id,
    primary: z.boolean().describe('True for the first workspace of the account.'),
    name: z.string(),
    description: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    howItWorks: z.string().nullable(),
    url: z.string().nullable(),
    logo: z.string().nullable(),
    frameworks: z.array(Framework).optional().describe('On request (`expand[]`).'),
    scopedPersonnelCount: z
      .int()
      .min(0)
      .nullish()
      .describe('How many people are in scope, on request (`expand[]`); null without a scope.'),
  })
  .meta({ id: 'WorkspaceResponsePublicV2Dto', description: 'A product or business line of the account.' })
export type Workspace = z.infer<typeof Workspace>

const WorkspacePage = page(Workspace).meta({ id: 'WorkspacesResponsePublicV2Dto' })

/** The operations on workspaces. */
export const workspaces = operations({
  listWorkspaces: {
    method: 'GET',
    path: '/workspaces',
    summary: 'List Workspaces',
    description: 'The workspaces of the account.',
    permission: 'workspaces-get',
    query: z.object({
      ...listQuery,
      ...expandQuery(WorkspaceExpand),
    }),
    success: { 200: WorkspacePage },
    errors: [400, 401, 403, 412, 500],
  },
})
