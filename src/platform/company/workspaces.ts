import { type Kysely, type Selectable, sql } from 'kysely'
import type { Framework, Workspace, workspaces } from '../../contract/platform/workspaces.ts'
import { prepared } from '../../database/prepared.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { listById, presentRows } from '../core/present-rows.ts'
import { anyOf, groupRows, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { countsByWorkspace } from './groups.ts'

type Row = Selectable<PlatformSchema['workspaces']>

/** The handlers of the operations on workspaces. */
export const workspaceHandlers: Handlers<typeof workspaces, PlatformContext> = {
  async listWorkspaces(ctx, { query }) {
    return replyWithPage(ctx, {
      table: 'workspaces',
      where: sql`account_id = ${ctx.accountId}`,
      query,
      present: (rows) => present(ctx, rows, query['expand[]']),
    })
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

/** As `requireWorkspace`; nobody can delete the workspace until the transaction ends. */
export async function lockWorkspaceForShare(
  trx: Kysely<PlatformSchema>,
  accountId: number,
  workspaceId: number,
): Promise<void> {
  const row = await workspaceAt(trx, accountId, workspaceId).forKeyShare().executeTakeFirst()
  if (!row) refuseUnknown(workspaceId)
}

/** As `requireWorkspace`; nobody else changes the scope of the workspace until the transaction ends. */
export async function lockWorkspace(
  trx: Kysely<PlatformSchema>,
  accountId: number,
  workspaceId: number,
): Promise<void> {
  const row = await workspaceAt(trx, accountId, workspaceId).forNoKeyUpdate().executeTakeFirst()
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

async function present(
  ctx: PlatformContext,
  rows: readonly Row[],
  expand: readonly string[] = [],
): Promise<Workspace[]> {
  const counts = expand.includes('personnelScope')
    ? await countsByWorkspace(
        ctx.db,
        rows.map(({ id }) => id),
      )
    : null
  const loaders = { frameworks: async () => listById(await frameworksOf(ctx.db, rows)) }
  const countOf = ({ id }: Row) => (counts ? (counts.get(id) ?? null) : undefined)
  const presentScope = (row: Row) => ({ ...presentRow(row), scopedPersonnelCount: countOf(row) })
  return presentRows(rows, { present: presentScope, expand, loaders })
}

function presentRow(row: Row): Workspace {
  return {
    id: row.id,
    primary: row.is_primary,
    name: row.name,
    description: row.description,
    howItWorks: row.how_it_works,
    url: row.url,
    logo: row.logo,
    ...presentTimes(row),
  }
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
    .where('enabled.workspace_id', '=', anyOf(workspaceRows.map(({ id }) => id)))
    .orderBy('frameworks.id')
    .execute()
  return groupRows(
    rows,
    (row) => row.workspace_id,
    (row) => ({
      id: row.id,
      name: row.name,
      description: row.description,
      enabledAt: row.enabled_at.toISOString(),
      ...presentTimes(row),
    }),
  )
}
