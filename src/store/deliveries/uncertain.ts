import { sql } from 'kysely'
import { clockBound } from '../has-come.ts'
import { putInDoubt } from '../in-doubt.ts'
import type { Db } from '../schema.ts'
import { isAtWork, type Lease, mayStillMove } from '../workers/leases.ts'

/**
 * Marks the people of a batch as uncertain: a request about them may have reached the platform after the batch was given to another
 * process, or was dropped. The next run reads back what is there. They are in doubt until no such request can be under way.
 */
export async function markUncertain(
  db: Db,
  { runId, batch, now }: { runId: string; batch: number; now: Date },
): Promise<void> {
  await sql`
    update roster set uncertain = true from changes, runs
    where changes.run_id = ${runId} and changes.batch = ${batch} and runs.id = changes.run_id
      and roster.connection = runs.connection and roster.identity_id = changes.identity_id`.execute(db)
  await putInDoubt({ runId, batch, now, where: sql`true` }).execute(db)
}

/** The connections with uncertain people of whom no run is about to take care: the last one that was to read them back failed before then. */
export async function leftUncertain(db: Db, { failedBefore }: { failedBefore: Date }): Promise<string[]> {
  const { rows } = await sql<{ connection: string }>`
    select distinct connection from roster
    where uncertain and not exists (
      select 1 from runs where runs.connection = roster.connection
        and (state in ('waiting', 'reading', 'planned', 'delivering')
          or (feed = 'roster' and state = 'failed' and finished_at between ${failedBefore} and ${clockBound(failedBefore)})))`.execute(
    db,
  )
  return rows.map(({ connection }) => connection)
}

/** Forgets that a batch was taken over from a process, once no request of that process can be under way any more. */
export async function settleTakeover(
  db: Db,
  { runId, batch, lease }: { runId: string; batch: number; lease: number },
): Promise<void> {
  await db
    .deleteFrom('takeovers')
    .where('run_id', '=', runId)
    .where('batch', '=', batch)
    .where('lease', '=', lease)
    .execute()
}

/** The batches that were taken over from a process that has ended since, or from this process, which no longer works on them. */
export async function endedTakeovers(
  db: Db,
  lease: Lease,
): Promise<{ readonly runId: string; readonly batch: number; readonly lease: number; readonly connection: string }[]> {
  const rows = await db
    .selectFrom('takeovers')
    .innerJoin('runs', 'runs.id', 'takeovers.run_id')
    .select(['takeovers.run_id as runId', 'takeovers.batch', 'takeovers.lease', 'runs.connection'])
    .where(sql<boolean>`(takeovers.lease = ${lease.id} or not ${mayStillMove(sql`takeovers.lease`)})`)
    .execute()
  return rows.filter(
    ({ runId, batch, ...row }) => row.lease !== lease.id || !isAtWork(lease, { kind: 'batch', runId, batch }),
  )
}
