import type { Kysely } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'
import type { SeedAudit, SeedWorkspace } from './document.ts'
import { insertAudit, insertRequests, type Writing } from '../audits/write.ts'

/** Adds the audits and requests that are not there yet; returns how many audits. Workspaces, people and controls come before. */
export async function seedAudits(
  trx: Kysely<PlatformSchema>,
  { accountId, workspaces, now }: { accountId: number; workspaces: readonly SeedWorkspace[]; now: Date },
): Promise<number> {
  let added = 0
  for (const { name, audits } of workspaces.filter((workspace) => workspace.audits.length > 0)) {
    const { id } = await trx
      .selectFrom('workspaces')
      .select('id')
      .where('account_id', '=', accountId)
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
    const writing = { accountId, workspaceId: id, command: 'platform seed', now }
    for (const audit of audits) added += (await seedAudit(trx, audit, writing)) ? 1 : 0
  }
  return added
}

async function seedAudit(trx: Kysely<PlatformSchema>, audit: SeedAudit, writing: Writing): Promise<boolean> {
  const inserted = await insertAudit(trx, audit, writing)
  const { id } =
    inserted ??
    (await trx
      .selectFrom('audits')
      .select('id')
      .where('workspace_id', '=', writing.workspaceId)
      .where('framework_type', '=', audit.framework)
      .where('start_date', '=', audit.startDate)
      .where('end_date', '=', audit.endDate)
      .executeTakeFirstOrThrow())
  await insertRequests(trx, id, { requests: audit.requests, writing })
  return inserted !== null
}
