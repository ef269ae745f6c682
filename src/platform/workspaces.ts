import { type Selectable, sql } from 'kysely'
import type { Workspace, workspaces } from '../contract/workspaces.ts'
import type { Handlers } from '../http/mount.ts'
import type { PlatformContext } from './context.ts'
import { listPage } from './pages.ts'
import type { PlatformSchema } from './schema.ts'

export const workspaceHandlers: Handlers<typeof workspaces, PlatformContext> = {
  async listWorkspaces(ctx, { query }) {
    const { rows, pagination } = await listPage(ctx, {
      table: 'workspaces',
      where: sql`account_id = ${ctx.accountId}`,
      query,
    })
    return { status: 200, body: { data: rows.map((row) => present(row, query['expand[]'])), pagination } }
  },
}

// Frameworks and personnel scopes are not set up on this platform: a workspace has none of the former and no scope.
function present(
  row: Selectable<PlatformSchema['workspaces']>,
  expand: readonly ('frameworks' | 'personnelScope')[] = [],
): Workspace {
  return {
    id: row.id,
    primary: row.is_primary,
    name: row.name,
    description: row.description,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    howItWorks: row.how_it_works,
    url: row.url,
    logo: row.logo,
    ...(expand.includes('frameworks') && { frameworks: [] }),
    ...(expand.includes('personnelScope') && { scopedPersonnelCount: null }),
  }
}
