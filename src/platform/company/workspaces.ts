import { type Kysely, type Selectable, sql } from 'kysely'
import type { Framework, Workspace, workspaces } from '../../contract/platform/workspaces.ts'
import { prepared } from '../../database/prepared.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { listPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Row = Selectable<PlatformSchema['workspaces']>
type Expansions = readonly ('frameworks' | 'personnelScope')[]

export const workspaceHandlers: Handlers<typeof workspaces, PlatformContext> = {
  async listWorkspaces(ctx, { query }) {
    const { rows, pagination } = await listPage(ctx, {
      table: 'workspaces',
      where: sql`account_id = ${ctx.accountId}`,
      query,
    })
    return { status: 200, body: { data: await present(ctx, rows, query['expand[]']), pagination } }
  },
}

/** Refuses a workspace that the account does not have. */
export async function requireWorkspace(
  db: Kysely<PlatformSchema>,
  accountId: number,
  workspaceId: number,
): Promise<void> {
  const row = await workspaceAt(db, accountId, workspaceId).executeTakeFirst()
  if (!row) refuseUnknown(workspaceId)
}

/** As `requireWorkspace`, and keeps the workspace from being deleted until the transaction ends. */
export async function lockWorkspaceForShare(
  trx: Kysely<PlatformSchema>,
  accountId: number,
  workspaceId: number,
): Promise<void> {
  const row = await workspaceAt(trx, accountId, workspaceId).forKeyShare().executeTakeFirst()
  if (!row) refuseUnknown(workspaceId)
}

function workspaceAt(db: Kysely<PlatformSchema>, accountId: number, workspaceId: number) {
  return db
    .selectFrom('workspaces')
    .modifyFront(sql.raw(prepared))
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', workspaceId)
}

function refuseUnknown(workspaceId: number): never {
  throw new Refusal(404, `There is no workspace ${workspaceId}`)
}

async function present(ctx: PlatformContext, rows: readonly Row[], expand: Expansions = []): Promise<Workspace[]> {
  const frameworks = expand.includes('frameworks') ? await frameworksOf(ctx.db, rows) : null
  return rows.map((row) => ({
    id: row.id,
    primary: row.is_primary,
    name: row.name,
    description: row.description,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    howItWorks: row.how_it_works,
    url: row.url,
    logo: row.logo,
    ...(frameworks && { frameworks: frameworks.get(row.id) ?? [] }),
    // Personnel scopes are not set up on this platform.
    ...(expand.includes('personnelScope') && { scopedPersonnelCount: null }),
  }))
}

async function frameworksOf(
  db: Kysely<PlatformSchema>,
  workspaceRows: readonly Row[],
): Promise<ReadonlyMap<number, Framework[]>> {
  const rows = await db
    .selectFrom('workspace_frameworks as enabled')
    .innerJoin('frameworks', 'frameworks.id', 'enabled.framework_id')
    .selectAll('frameworks')
    .select(['enabled.workspace_id', 'enabled.enabled_at'])
    .where(sql<boolean>`enabled.workspace_id = any(${workspaceRows.map(({ id }) => id)}::bigint[])`)
    .orderBy('frameworks.id')
    .execute()
  const presentFramework = (row: (typeof rows)[number]): Framework => ({
    id: row.id,
    name: row.name,
    description: row.description,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    enabledAt: row.enabled_at.toISOString(),
  })
  const grouped = Map.groupBy(rows, (row) => row.workspace_id)
  return new Map([...grouped].map(([id, group]) => [id, group.map(presentFramework)]))
}
