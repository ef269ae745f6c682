import { sql } from 'kysely'
import type { Db, RunRow } from '../schema.ts'
import { type Lease, withoutLease } from '../workers/leases.ts'
import { sourceRunsFirst } from './runs.ts'

/** A connection has at most one run in these states. */
const activeStates = ['reading', 'planned', 'delivering'] as const

/** A run that this process works on. `attempt` fences its writes. */
export type ClaimedRun = { readonly run: RunRow; readonly attempt: number }

/** Locks the row of a connection, so that no two transactions start a run of it at once. */
async function lockConnection(tx: Db, connection: string): Promise<void> {
  await tx.selectFrom('connections').select('name').where('name', '=', connection).forUpdate().execute()
}

/** The active run of a connection; null if there is none. None can start before this transaction ends. */
export async function lockActiveRun(tx: Db, connection: string): Promise<string | null> {
  await lockConnection(tx, connection)
  return await activeRun(tx, connection)
}

/** The active run of a connection as it is now; null if there is none. */
export async function activeRun(db: Db, connection: string): Promise<string | null> {
  const active = await db
    .selectFrom('runs')
    .select('id')
    .where('connection', '=', connection)
    .where('state', 'in', activeStates)
    .executeTakeFirst()
  return active?.id ?? null
}

type RunClaimInput = {
  readonly id: string
  readonly lease: Lease
  readonly now: Date
}

/**
 * Claims a waiting run, or one whose process died while it read or planned. Null: the connection has another active run, or a live
 * process works on this one.
 */
export async function claimRun(db: Db, { id, lease, now }: RunClaimInput): Promise<ClaimedRun | null> {
  return await db.transaction().execute(async (tx) => {
    const waiting = await tx.selectFrom('runs').select('connection').where('id', '=', id).executeTakeFirst()
    if (!waiting) return null
    await lockConnection(tx, waiting.connection)
    const run = await tx
      .updateTable('runs')
      .set({
        state: sql`case state when 'waiting' then 'reading' else state end`,
        lease: lease.id,
        attempt: sql`attempt + 1`,
        started_at: sql`coalesce(started_at, ${now})`,
      })
      .where('id', '=', id)
      .where('state', 'in', ['waiting', 'reading', 'planned'])
      .where(withoutLease(sql`runs.lease`))
      .where(noRival)
      .returningAll()
      .executeTakeFirst()
    return run ? { run, attempt: run.attempt } : null
  })
}

/** By id of a run that will read its source: the number of rows of the previous run, null if there was none. */
export async function formerRows(db: Db, runIds: readonly string[]): Promise<ReadonlyMap<string, number | null>> {
  if (runIds.length === 0) return new Map()
  const { rows } = await sql<{ id: string; rows: number | null }>`
    select given.id, former.rows
    from runs given left join lateral (
      select rows from runs
      where connection = given.connection and feed = 'source' and rows is not null
      order by created_at desc, id desc limit 1
    ) former on true
    where given.id = any(${runIds}) and given.feed = 'source'`.execute(db)
  return new Map(rows.map((run) => [run.id, run.rows]))
}

/** Releases a run that this process cannot continue now; another attempt may claim it. */
export async function releaseRun(db: Db, claim: ClaimedRun): Promise<void> {
  await db
    .updateTable('runs')
    .set({ lease: null })
    .where('id', '=', claim.run.id)
    .where('attempt', '=', claim.attempt)
    .execute()
}

/** Whether this attempt may write; locks the run in the transaction that writes. */
export async function holdsRun(tx: Db, claim: ClaimedRun): Promise<boolean> {
  const row = await tx
    .selectFrom('runs')
    .select('id')
    .where('id', '=', claim.run.id)
    .where('attempt', '=', claim.attempt)
    .where('state', 'in', ['reading', 'planned'])
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

type DueRun = {
  readonly runId: string
  readonly jobId: string
  readonly attempt: number
  /** An attempt has failed and released it: the queue retries it after a delay. */
  readonly wasReleased: boolean
}

/** Runs that can continue and have no live process: waiting ones without a rival, and those whose process died. Older ones first. */
export async function dueRuns(db: Db, { connection }: { readonly connection?: string } = {}): Promise<DueRun[]> {
  let query = db
    .selectFrom('runs')
    .select(['id', 'attempt', 'lease'])
    .where('state', 'in', ['waiting', 'reading', 'planned'])
    .where(withoutLease(sql`runs.lease`))
    .where(noRival)
  if (connection !== undefined) query = query.where('connection', '=', connection)
  const rows = await query.orderBy('created_at').orderBy(sourceRunsFirst).orderBy('id').execute()
  return rows.map(({ id, attempt, lease }) => ({
    runId: id,
    jobId: `${id}${lease === null ? '' : `-${attempt}`}`,
    attempt,
    wasReleased: lease === null && attempt > 0,
  }))
}

// Runs of a connection are sequential, so that older facts never overtake newer ones. A waiting roster run goes before later requests of
// a source, so that a due departure does not wait for an unreadable source.
const noRival = sql<boolean>`not exists (
  select 1 from runs rival
  where rival.connection = runs.connection and rival.id <> runs.id and (rival.state in (${sql.join(activeStates)})
    or (rival.state = 'waiting' and rival.feed = 'roster' and rival.created_at <= runs.created_at
      and runs.state = 'waiting' and runs.feed <> 'roster')))`

/**
 * Ends a run with problems that has just ended well, because not everybody is accounted for. A cancelled run stays cancelled and gets the
 * reason. Call it in the transaction that ends the run.
 */
export async function moveToProblems(
  tx: Db,
  { runId, reason }: { readonly runId: string; readonly reason: string },
): Promise<void> {
  await tx
    .updateTable('runs')
    .set({ state: sql`case state when 'cancelled' then state else 'finished_with_problems' end`, reason })
    .where('id', '=', runId)
    .where('state', 'in', ['finished', 'unchanged', 'finished_with_problems', 'cancelled'])
    .execute()
}
