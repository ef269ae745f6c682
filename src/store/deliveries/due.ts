import { sql } from 'kysely'
import type { ConnectionAt } from '../keys.ts'
import type { Db } from '../schema.ts'
import { withoutLease } from '../workers/leases.ts'
import { type DeliveryKind, isDueAt } from './claim.ts'

/** A batch to enqueue. */
export type DueDelivery = {
  readonly runId: string
  readonly batch: number
  readonly kind: DeliveryKind
  readonly jobId: string
  /** The run has too many batches to be delivered within a few seconds. */
  readonly isLong: boolean
}

/** Maximum number of batches of a run that is delivered within a few seconds. */
const shortBatches = 4

/**
 * The due batches that no live process works on. The job id is stable while a batch is only queued, so enqueueing it twice has no effect.
 * Each attempt changes it, so that an abandoned or delayed job does not block the batch.
 */
export async function dueDeliveries(
  db: Db,
  options: { now: Date; runId?: string; connection?: string },
): Promise<DueDelivery[]> {
  let query = db
    .selectFrom('deliveries')
    .innerJoin('runs', 'runs.id', 'deliveries.run_id')
    .select(['deliveries.run_id', 'deliveries.batch', 'deliveries.kind', 'deliveries.attempts'])
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom('deliveries as further')
          .select('further.batch')
          .whereRef('further.run_id', '=', 'deliveries.run_id')
          .where('further.batch', '>', shortBatches),
      ).as('is_long'),
    )
    .where('runs.state', '=', 'delivering')
    .where('deliveries.state', '=', 'due')
    .where(isDueAt(options.now))
    .where(withoutLease(sql`deliveries.lease`))
    .orderBy('deliveries.run_id')
    .orderBy('deliveries.batch')
  if (options.runId !== undefined) query = query.where('deliveries.run_id', '=', options.runId)
  if (options.connection !== undefined) query = query.where('runs.connection', '=', options.connection)
  const rows = await query.execute()
  return rows.map((row) => ({
    runId: row.run_id,
    batch: row.batch,
    kind: row.kind as DeliveryKind,
    jobId: `${row.run_id}-${row.batch}-${row.attempts}`,
    isLong: Boolean(row.is_long),
  }))
}

/** When the next batch of a run, or of any run, is attempted; null: one is being attempted now, or none is due. */
export async function nextAttemptAt(db: Db, runId?: string): Promise<Date | null> {
  const ofRun = runId === undefined ? sql`true` : sql`deliveries.run_id = ${runId}`
  const { rows } = await sql<{ at: Date | null }>`
    select min(due_at) filter (where deliveries.lease is null) as at from deliveries join runs on runs.id = deliveries.run_id
    where deliveries.state = 'due' and runs.state = 'delivering' and ${ofRun}
    having not bool_or(deliveries.lease is not null)`.execute(db)
  return rows[0]?.at ?? null
}

/** Makes every delayed batch of a connection due now. Returns the number of people in them. */
export async function makeDueNow(db: Db, { connection, now }: ConnectionAt): Promise<number> {
  const { rows } = await sql<{ people: number }>`
    with hastened as (
      update deliveries set due_at = least(due_at, ${now}::timestamptz) from runs
      where deliveries.state = 'due' and runs.id = deliveries.run_id and runs.connection = ${connection} and runs.state = 'delivering'
      returning people - confirmed - refused as people
    ) select coalesce(sum(people), 0)::int as people from hastened`.execute(db)
  return rows[0]?.people ?? 0
}
