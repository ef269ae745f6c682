import { sql } from 'kysely'
import type { Db, RunRow } from '../schema.ts'
import { type Lease, withoutLease } from '../workers/leases.ts'
import { behindSource } from './runs.ts'

/** The states of which a connection has one run at a time. */
const activeStates = ['reading', 'planned', 'delivering'] as const

export type ClaimedRun = { readonly run: RunRow; readonly attempt: number }

/** Has everything that starts a run of a connection queue up on the connection's row, so that two never race for the one active place. */
async function lockConnection(tx: Db, connection: string): Promise<void> {
  await tx.selectFrom('connections').select('name').where('name', '=', connection).forUpdate().execute()
}

/** The active run of a connection; null if there is none, and none can start before this transaction has ended. */
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
 * Takes a waiting run up, or one whose process died while it read or planned; null if there is nothing to do now, because the
 * connection has another active run or a live process works on this one.
 */
export async function claimRun(db: Db, { id, lease, now }: RunClaimInput): Promise<ClaimedRun | null> {
  return await db.transaction().execute(async (tx) => {
    const found = await tx.selectFrom('runs').select('connection').where('id', '=', id).executeTakeFirst()
    if (!found) return null
    await lockConnection(tx, found.connection)
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

/** How many rows the last run of its connection has read, null if there was none, by the ids of runs that are to read the source. */
export async function formerRows(db: Db, runIds: readonly string[]): Promise<ReadonlyMap<string, number | null>> {
  if (runIds.length === 0) return new Map()
  const { rows } = await sql<{ id: string; rows: number | null }>`
    select asked.id, former.rows
    from runs asked left join lateral (
      select rows from runs
      where connection = asked.connection and feed = 'source' and rows is not null
      order by created_at desc, id desc limit 1
    ) former on true
    where asked.id = any(${runIds}) and asked.feed = 'source'`.execute(db)
  return new Map(rows.map((run) => [run.id, run.rows]))
}

/** Lets go of a run that this process cannot go on with now; another attempt may take it up. */
export async function releaseRun(db: Db, claim: ClaimedRun): Promise<void> {
  await db
    .updateTable('runs')
    .set({ lease: null })
    .where('id', '=', claim.run.id)
    .where('attempt', '=', claim.attempt)
    .execute()
}

/** True while this attempt is the one that may write; taken inside the transaction that writes. */
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
  /** An attempt at it has failed and let go of it: the queue has it tried again after a pause. */
  readonly wasReleased: boolean
}

/** Runs that could go on and have no live process: waiting ones without a rival, and those whose process died. The older go first. */
export async function dueRuns(db: Db, { connection }: { readonly connection?: string } = {}): Promise<DueRun[]> {
  let query = db
    .selectFrom('runs')
    .select(['id', 'attempt', 'lease'])
    .where('state', 'in', ['waiting', 'reading', 'planned'])
    .where(withoutLease(sql`runs.lease`))
    .where(noRival)
  if (connection !== undefined) query = query.where('connection', '=', connection)
  const rows = await query.orderBy('created_at').orderBy(behindSource).orderBy('id').execute()
  return rows.map(({ id, attempt, lease }) => ({
    runId: id,
    jobId: `${id}${lease === null ? '' : `-${attempt}`}`,
    attempt,
    wasReleased: lease === null && attempt > 0,
  }))
}

// Runs of a connection go one after the other: older facts never overtake newer ones. What the roster knows goes before what a source
// that was asked for later says, so that a leaver whose day has come does not wait for a source that cannot be read.
const noRival = sql<boolean>`not exists (
  select 1 from runs rival
  where rival.connection = runs.connection and rival.id <> runs.id and (rival.state in (${sql.join(activeStates)})
    or (rival.state = 'waiting' and rival.feed = 'roster' and rival.created_at <= runs.created_at
      and runs.state = 'waiting' and runs.feed <> 'roster')))`
