import { sql } from 'kysely'
import type { Change } from '../identity/change.ts'
import type { IdentityRecord } from '../identity/record.ts'
import type { Owner } from './owner.ts'
import { unowned } from './owner.ts'
import { toChange } from './plans.ts'
import { moveRun, type RunState } from './runs.ts'
import type { Answer, Db } from './schema.ts'

const deliveryKinds = ['upsert', 'update', 'delete'] as const
export type DeliveryKind = (typeof deliveryKinds)[number]

/** A batch that this process works on. `attempt` fences it: what a slower, older attempt writes afterwards is refused. */
export type ClaimedDelivery = {
  readonly runId: string
  readonly batch: number
  readonly kind: DeliveryKind
  readonly connection: string
  readonly attempt: number
}

/** How far a correction of a leaving date has come; stored before the request that it names. */
export type Step = 'clearing' | 'cleared'

export type PendingChange = { readonly change: Change; readonly step: Step | null }

/** What became of one person in one attempt. `confirmed` is what the platform now holds; absent: as it was. */
export type Outcome = {
  readonly identityId: string
  readonly state: 'confirmed' | 'problem' | 'due'
  readonly step?: Step
  readonly confirmed?: IdentityRecord | null
  readonly answer: Answer
}

/** Takes a due batch; null where it is done, cancelled, or somebody who lives works on it. */
export async function claimDelivery(
  db: Db,
  { runId, batch, owner }: { runId: string; batch: number; owner: Owner },
): Promise<ClaimedDelivery | null> {
  const row = await db
    .updateTable('deliveries')
    .from('runs')
    .set({ owner: owner.id, attempts: sql`deliveries.attempts + 1` })
    .whereRef('runs.id', '=', 'deliveries.run_id')
    .where('runs.state', '=', 'delivering')
    .where('deliveries.run_id', '=', runId)
    .where('deliveries.batch', '=', batch)
    .where('deliveries.state', '=', 'due')
    .where(unowned(sql`deliveries.owner`))
    .returning(['deliveries.kind', 'deliveries.attempts', 'runs.connection'])
    .executeTakeFirst()
  if (!row) return null
  return { runId, batch, kind: row.kind as DeliveryKind, connection: row.connection, attempt: row.attempts }
}

/** What is left to do in a batch, in key order. */
export async function pendingChanges(db: Db, { runId, batch }: ClaimedDelivery): Promise<PendingChange[]> {
  const rows = await db
    .selectFrom('changes')
    .select(['identity_id', 'kind', 'record', 'fields', 'inferred', 'carried', 'reason', 'step'])
    .where('run_id', '=', runId)
    .where('batch', '=', batch)
    .where('state', '=', 'due')
    .orderBy('identity_id')
    .execute()
  return rows.map((row) => ({ change: toChange(row), step: row.step as Step | null }))
}

/** Stores the step before its request goes out. False: another attempt has taken the batch over, and nothing may be sent. */
export async function storeStep(
  db: Db,
  claim: ClaimedDelivery,
  { identityIds, step }: { identityIds: readonly string[]; step: Step },
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    if (!(await holdsDelivery(tx, claim))) return false
    await tx
      .updateTable('changes')
      .set({ step })
      .where('run_id', '=', claim.runId)
      .where(sql<boolean>`identity_id = any(${identityIds})`)
      .execute()
    return true
  })
}

/**
 * Writes what became of people, all in one transaction: their changes, what the platform holds of them, and their problems.
 * False: another attempt has taken the batch over, and nothing was written.
 */
export async function recordOutcomes(
  db: Db,
  claim: ClaimedDelivery,
  { outcomes, sentAt, now }: { outcomes: readonly Outcome[]; sentAt: Date; now: Date },
): Promise<boolean> {
  const found = JSON.stringify(outcomes.map((outcome) => ({ ...outcome, known: outcome.confirmed !== undefined })))
  return await db.transaction().execute(async (tx) => {
    if (!(await holdsDelivery(tx, claim))) return false
    await sql`
      update changes set state = o.state, step = coalesce(o.step, changes.step), requests = requests + 1,
        sent_at = ${sentAt}, answered_at = ${now}, answer = o.answer
      from jsonb_to_recordset(${found}::jsonb) as o("identityId" text, state text, step text, answer jsonb)
      where changes.run_id = ${claim.runId} and changes.identity_id = o."identityId"`.execute(tx)
    await sql`
      update roster set confirmed = o.confirmed, confirmed_at = ${now}
      from jsonb_to_recordset(${found}::jsonb) as o("identityId" text, confirmed jsonb, known boolean)
      where roster.connection = ${claim.connection} and roster.identity_id = o."identityId" and o.known`.execute(tx)
    await sql`
      delete from problems using jsonb_to_recordset(${found}::jsonb) as o("identityId" text, state text)
      where problems.connection = ${claim.connection} and problems.identity_id = o."identityId" and o.state = 'confirmed'`.execute(
      tx,
    )
    await sql`
      insert into problems (connection, identity_id, run_id, kind, status, message, first_at, last_at)
      select ${claim.connection}, changes.identity_id, changes.run_id, changes.kind,
        case when jsonb_typeof(o.answer -> 'status') = 'number' then (o.answer ->> 'status')::int end,
        coalesce(o.answer ->> 'message', 'the platform gave no reason'), ${now}, ${now}
      from jsonb_to_recordset(${found}::jsonb) as o("identityId" text, state text, answer jsonb)
      join changes on changes.run_id = ${claim.runId} and changes.identity_id = o."identityId"
      where o.state = 'problem'
      on conflict (connection, identity_id) do update set
        run_id = excluded.run_id, kind = excluded.kind, status = excluded.status, message = excluded.message,
        last_at = excluded.last_at, times = problems.times + 1`.execute(tx)
    return true
  })
}

export type Settled = { readonly runState: RunState; readonly remaining: number }

/**
 * Ends this attempt: counts its requests, and either closes the batch or lets go of it until `dueAt`.
 * The batch that closes last closes the run. Null: another attempt has taken the batch over.
 */
export async function endDelivery(
  db: Db,
  claim: ClaimedDelivery,
  { requests, dueAt, failure, now }: { requests: number; dueAt: Date; failure: string | null; now: Date },
): Promise<Settled | null> {
  return await db.transaction().execute(async (tx) => {
    // The run's row first: two batches that end together then see each other.
    await tx.selectFrom('runs').select('id').where('id', '=', claim.runId).forUpdate().execute()
    if (!(await holdsDelivery(tx, claim))) return null
    const { remaining } = await tx
      .selectFrom('changes')
      .select(sql<number>`count(*)::int`.as('remaining'))
      .where('run_id', '=', claim.runId)
      .where('batch', '=', claim.batch)
      .where('state', '=', 'due')
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('deliveries')
      .set({
        state: remaining === 0 ? 'done' : 'due',
        owner: null,
        due_at: dueAt,
        requests: sql`requests + ${requests}`,
        last_failure: failure,
      })
      .where('run_id', '=', claim.runId)
      .where('batch', '=', claim.batch)
      .execute()
    return { remaining, runState: await closeRun(tx, claim.runId, now) }
  })
}

export type DueDelivery = {
  readonly runId: string
  readonly batch: number
  readonly kind: DeliveryKind
  readonly jobId: string
}

/**
 * What is due and nobody who lives works on. The job id is the same for as long as the batch is merely queued, so that enqueueing
 * it again does nothing; once a process has died on it the id is a new one, and its abandoned job does not stand in the way.
 */
export async function dueDeliveries(db: Db, options: { now: Date; runId?: string }): Promise<DueDelivery[]> {
  let query = db
    .selectFrom('deliveries')
    .innerJoin('runs', 'runs.id', 'deliveries.run_id')
    .select(['deliveries.run_id', 'deliveries.batch', 'deliveries.kind', 'deliveries.attempts', 'deliveries.owner'])
    .where('runs.state', '=', 'delivering')
    .where('deliveries.state', '=', 'due')
    .where('deliveries.due_at', '<=', options.now)
    .where(unowned(sql`deliveries.owner`))
    .orderBy('deliveries.run_id')
    .orderBy('deliveries.batch')
  if (options.runId !== undefined) query = query.where('deliveries.run_id', '=', options.runId)
  const rows = await query.execute()
  return rows.map((row) => ({
    runId: row.run_id,
    batch: row.batch,
    kind: row.kind as DeliveryKind,
    jobId: `${row.run_id}-${row.batch}${row.owner === null ? '' : `-${row.attempts}`}`,
  }))
}

/** Makes everything of a connection that waits for its time due now. */
export async function hasten(db: Db, { connection, now }: { connection: string; now: Date }): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ due_at: now })
    .where('state', '=', 'due')
    .where('due_at', '>', now)
    .where('run_id', 'in', (eb) => eb.selectFrom('runs').select('id').where('connection', '=', connection))
    .execute()
}

async function holdsDelivery(tx: Db, claim: ClaimedDelivery): Promise<boolean> {
  const row = await tx
    .selectFrom('deliveries')
    .select('batch')
    .where('run_id', '=', claim.runId)
    .where('batch', '=', claim.batch)
    .where('attempts', '=', claim.attempt)
    .where('state', '=', 'due')
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

async function closeRun(tx: Db, runId: string, now: Date): Promise<RunState> {
  const open = await tx
    .selectFrom('deliveries')
    .select('batch')
    .where('run_id', '=', runId)
    .where('state', '=', 'due')
    .limit(1)
    .executeTakeFirst()
  if (open) return 'delivering'
  const problem = await tx
    .selectFrom('changes')
    .select('identity_id')
    .where('run_id', '=', runId)
    .where('state', '=', 'problem')
    .limit(1)
    .executeTakeFirst()
  const to = problem ? 'finished_with_problems' : 'finished'
  await moveRun(tx, { id: runId, to, now })
  return to
}
