import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** A statement that was made and is no longer kept. */
export type RemovedStatement = { readonly at: string; readonly runId: string }

type Period = { readonly connection: string; readonly from: Date; readonly to: Date }

/** The removed statements of a period, and the last one before it if that was removed. The audit trail still names each. */
export async function removedStatements(
  db: Db,
  { connection, from, to }: Period,
): Promise<readonly RemovedStatement[]> {
  const { rows } = await sql<RemovedStatement>`
    with made as (
      select entry::json ->> 'at' as at, entry::json ->> 'runId' as "runId" from audit_trail
      where entry like '%"act":"statement.made"%' and entry::json ->> 'connection' = ${connection}
    )
    select at, "runId" from made
    where at < ${to.toISOString()}
      and at >= coalesce((select max(at) from made earlier where earlier.at < ${from.toISOString()}), ${from.toISOString()})
      and not exists (select from statements where statements.run_id = made."runId"::uuid)
    order by at`.execute(db)
  return rows
}
