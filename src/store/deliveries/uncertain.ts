import { sql } from 'kysely'
import { lockRoster } from '../connections/connections.ts'
import { clockBound } from '../has-come.ts'
import { markInDoubt } from '../in-doubt.ts'
import type { BatchKey } from '../keys.ts'
import type { Db } from '../schema.ts'
import { isAtWork, isProcessAlive, type Lease } from '../workers/leases.ts'

type UncertainBatch = BatchKey & {
  readonly now: Date
}

/**
 * Marks the people of a batch as uncertain: a request about them may have reached the platform after another process took the batch over,
 * or after the batch was dropped. The next run looks them up. They are in doubt until no such request can be under way.
 */
export async function markUncertain(db: Db, { runId, batch, now }: UncertainBatch): Promise<void> {
  const { connection } = await db
    .selectFrom('runs')
    .select('connection')
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  await lockRoster(db, connection)
  await sql`
    with doubtful as (
      select roster.identity_id from roster join changes on changes.identity_id = roster.identity_id
      where roster.connection = ${connection} and changes.run_id = ${runId} and changes.batch = ${batch}
      order by roster.identity_id for update of roster
    )
    update roster set uncertain = true from doubtful
    where roster.connection = ${connection} and roster.identity_id = doubtful.identity_id`.execute(db)
  await markInDoubt({ runId, batch, now, where: sql`true` }).execute(db)
}

/**
 * The connections with uncertain people that no run is about to look up. If the last run for that failed, the connection is left out
 * until `failedBefore`.
 */
export async function connectionsWithUncertain(db: Db, { failedBefore }: { failedBefore: Date }): Promise<string[]> {
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

type Takeover = BatchKey & {
  readonly lease: number
}

/** Removes a takeover once no request of the previous process can be under way. */
export async function closeTakeover(db: Db, { runId, batch, lease }: Takeover): Promise<void> {
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
    .where(sql<boolean>`(takeovers.lease = ${lease.id} or not ${isProcessAlive(sql`takeovers.lease`)})`)
    .execute()
  return rows.filter(
    ({ runId, batch, ...row }) => row.lease !== lease.id || !isAtWork(lease, { kind: 'batch', runId, batch }),
  )
}
