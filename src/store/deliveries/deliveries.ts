import { type RawBuilder, sql } from 'kysely'
import type { DeliveryFailureCode } from '../../contract/failures.ts'
import type { ChangeKind } from '../../identity/change.ts'
import type { IdentityRecord } from '../../identity/record.ts'
import type { Target } from '../connections.ts'
import { rechecked, recheckTime } from './uncertain.ts'
import { mayStillMove, type Lease, unleased } from '../workers/leases.ts'
import { moveRun } from '../runs/runs.ts'
import type { Answer, Db } from '../schema.ts'

const deliveryKinds = ['upsert', 'update', 'delete'] as const
export type DeliveryKind = (typeof deliveryKinds)[number]

/** A batch that this process works on. `attempt` fences it: what a slower, older attempt writes afterwards is refused. */
export type ClaimedDelivery = {
  readonly runId: string
  readonly batch: number
  readonly kind: DeliveryKind
  readonly connection: string
  readonly attempt: number
  /** Where the connection goes, as far as that is known already. */
  readonly target: Target
  readonly isBlocked: boolean
  /** The platform refuses people of the connection, or did so before; perhaps some of this batch. */
  readonly hasProblems: boolean
  /** Failed attempts in a row until now. */
  readonly failures: number
  /** An earlier request may have reached the platform, and nobody knows. */
  readonly uncertain: boolean
}

/** How far a correction of a leaving date has come; stored before the request that it names. */
export type Step = 'clearing' | 'cleared'

/** A change that is still to be delivered. */
export type PendingChange = {
  readonly identityId: string
  readonly kind: ChangeKind
  /** The record as JSON, as it was stored; null for a retraction only. */
  readonly json: string | null
  readonly separatedAt: string | null
  readonly step: Step | null
}

/** What became of one person in one attempt. `holds` is what the platform has now, left out where that is as it was. */
export type Outcome = {
  readonly identityId: string
  readonly state: 'confirmed' | 'problem' | 'due'
  readonly step?: Step
  readonly holds?: 'wanted' | { readonly confirmed: IdentityRecord | null }
  readonly answer: Answer
}

type ClaimBy = { readonly runId: string; readonly batch: number; readonly lease: Lease; readonly now: Date }

/**
 * Takes a due batch; null where it is done, cancelled, not due yet, or somebody who lives works on it. A batch whose former
 * process ended, or has stopped moving, is uncertain: a request of it may be under way.
 */
export async function claimDelivery(db: Db, by: ClaimBy): Promise<ClaimedDelivery | null> {
  // Whether a lease is live is looked up only if there is one, which is seldom.
  return (await claimFrom('free', db, by)) ?? (await claimFrom('leased', db, by))
}

async function claimFrom(
  from: 'free' | 'leased',
  db: Db,
  { runId, batch, lease, now }: ClaimBy,
): Promise<ClaimedDelivery | null> {
  const former = sql`deliveries.lease`
  const takenOver = sql`, taken_over as (
      insert into takeovers (run_id, batch, lease)
      select run_id, batch, previous from claimed where ${mayStillMove(sql`previous`)}
      on conflict do nothing
    )`
  const { rows } = await sql<ClaimedDelivery>`
    with claimed as (
      update deliveries set lease = ${lease.id}, attempts = deliveries.attempts + 1,
        uncertain = deliveries.uncertain or deliveries.lease is not null
      from runs, deliveries former
      where deliveries.run_id = ${runId} and deliveries.batch = ${batch} and deliveries.state = 'due' and deliveries.due_at <= ${now}
        and runs.id = deliveries.run_id and runs.state = 'delivering'
        and former.run_id = deliveries.run_id and former.batch = deliveries.batch
        and ${from === 'free' ? sql`${former} is null` : sql`${former} is not null and ${unleased(former)}`}
      returning deliveries.run_id, deliveries.batch, deliveries.kind, runs.connection, deliveries.attempts,
        deliveries.failures, deliveries.uncertain, former.lease as previous
    )${from === 'free' ? sql`` : takenOver}
    select run_id as "runId", batch, kind, connection, attempts as attempt, failures, uncertain,
      json_build_object('key', target_key, 'id', target_id, 'lacksUpdate', lacks_update) as target,
      blocked_at is not null as "isBlocked",
      exists (select 1 from problems where problems.connection = connections.name) as "hasProblems"
    from claimed join connections on connections.name = claimed.connection`.execute(db)
  return rows[0] ?? null
}

/** What is left to do in a batch, in key order. */
export async function pendingChanges(db: Db, { runId, batch }: ClaimedDelivery): Promise<PendingChange[]> {
  // One row with a text for each column: a thousand rows cost more than everything else that the store does for a batch.
  const { rows } = await sql<{ [K in 'kinds' | 'steps' | 'dates' | 'records']: string } & { ids: string[] | null }>`
    select json_agg(identity_id) as ids, string_agg(kind, ',') as kinds, string_agg(coalesce(step, ''), ',') as steps,
      string_agg(coalesce(separated_at, ''), ',') as dates, string_agg(coalesce(record::text, ''), E'\n') as records
    from (
      select identity_id, kind, step, separated_at, record from changes
      where run_id = ${runId} and batch = ${batch} and state = 'due' order by identity_id
    ) due`.execute(db)
  const [due] = rows
  if (!due?.ids) return []
  const kinds = due.kinds.split(',') as ChangeKind[]
  const steps = due.steps.split(',') as (Step | '')[]
  const dates = due.dates.split(',')
  // JSON escapes the line ends within it.
  const records = due.records.split('\n')
  return due.ids.map((identityId, i) => ({
    identityId,
    kind: kinds[i] as ChangeKind,
    step: steps[i] || null,
    separatedAt: dates[i] || null,
    json: records[i] || null,
  }))
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

/** True while this attempt is the one that may send. Asked right before a request, it keeps a process that was stopped for long from sending old facts. */
export async function stillHolds(db: Db, claim: ClaimedDelivery): Promise<boolean> {
  const row = await heldDelivery(db, claim).executeTakeFirst()
  return row !== undefined
}

/** What became of people, when the request went out that was about them, and when its answer was there. */
export type Written = { readonly outcomes: readonly Outcome[]; readonly sentAt: Date; readonly now: Date }

/**
 * Writes what became of some people of a batch, all in one transaction: their changes, what the platform holds of them, and their
 * problems. False: another attempt has taken the batch over, and nothing was written.
 */
export async function recordOutcomes(db: Db, claim: ClaimedDelivery, written: Written): Promise<boolean> {
  const { outcomes, now } = written
  return await db.transaction().execute(async (tx) => {
    if (!(await holdsDelivery(tx, claim))) return false
    await changesAs(claim, written).execute(tx)
    const taken = outcomes.filter(({ holds }) => holds === 'wanted').map(({ identityId }) => identityId)
    await sql`
      delete from acknowledged where connection = ${claim.connection} and identity_id = any(${taken})`.execute(tx)
    await noteHeld(tx, claim, outcomes)
    await dropProblems(tx, claim, outcomes)
    await noteProblems(tx, claim, { outcomes, now })
    await countOutcomes(tx, claim)
    return true
  })
}

async function noteHeld(tx: Db, claim: ClaimedDelivery, outcomes: readonly Outcome[]): Promise<void> {
  const held = outcomes.flatMap(({ identityId, state, holds }) =>
    typeof holds === 'object' ? [{ identityId, runId: state === 'due' ? claim.runId : null, ...holds }] : [],
  )
  if (held.length === 0) return
  await sql`
    insert into acknowledged (connection, identity_id, confirmed, run_id)
    select ${claim.connection}, "identityId", confirmed, "runId"
    from jsonb_to_recordset(${JSON.stringify(held)}::jsonb) as o("identityId" text, confirmed jsonb, "runId" uuid)
    on conflict (connection, identity_id) do update set confirmed = excluded.confirmed, run_id = excluded.run_id`.execute(
    tx,
  )
}

async function dropProblems(tx: Db, { connection }: ClaimedDelivery, outcomes: readonly Outcome[]): Promise<void> {
  const confirmed = outcomes.filter(({ state }) => state === 'confirmed').map(({ identityId }) => identityId)
  await sql`delete from problems where connection = ${connection} and identity_id = any(${confirmed})`.execute(tx)
}

async function noteProblems(
  tx: Db,
  claim: ClaimedDelivery,
  { outcomes, now }: Pick<Written, 'outcomes' | 'now'>,
): Promise<void> {
  const refused = outcomes.filter(({ state }) => state === 'problem')
  if (refused.length === 0) return
  await sql`
    insert into problems (connection, identity_id, run_id, kind, status, message, first_at, last_at)
    select ${claim.connection}, changes.identity_id, changes.run_id, changes.kind,
      case when jsonb_typeof(o.answer -> 'status') = 'number' then (o.answer ->> 'status')::int end,
      coalesce(o.answer ->> 'message', 'the platform gave no reason'), ${now}, ${now}
    from jsonb_to_recordset(${JSON.stringify(refused)}::jsonb) as o("identityId" text, answer jsonb)
    join changes on changes.run_id = ${claim.runId} and changes.identity_id = o."identityId"
    on conflict (connection, identity_id) do update set
      run_id = excluded.run_id, kind = excluded.kind, status = excluded.status, message = excluded.message,
      last_at = excluded.last_at, times = problems.times + 1`.execute(tx)
}

/** The statement that writes what became of single people; it may be continued with further conditions. */
function changesAs({ runId }: ClaimedDelivery, { outcomes, sentAt, now }: Written): RawBuilder<unknown> {
  return sql`
    update changes set state = o.state, step = coalesce(o.step, changes.step), requests = requests + 1,
      sent_at = ${sentAt}, answered_at = ${now}, answer = o.answer
    from jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb) as o("identityId" text, state text, step text, answer jsonb)
    where changes.run_id = ${runId} and changes.identity_id = o."identityId"`
}

/** The answer that most of them got. */
function commonAnswer(outcomes: readonly Outcome[]): Answer {
  const alike = Map.groupBy(
    outcomes,
    ({ answer: { status, code = '', message = '' } }) => `${status} ${code} ${message}`,
  )
  const [most] = [...alike.values()].sort((a, b) => b.length - a.length)
  return most?.[0]?.answer ?? { status: 0 }
}

function sameAnswer(a: Answer, b: Answer): boolean {
  return a.status === b.status && a.message === b.message && a.code === b.code
}

export type Settled = {
  readonly remaining: number
  readonly confirmed: number
  readonly refused: number
  readonly people: number
  /** The connection is blocked, perhaps since this batch was claimed. */
  readonly isBlocked: boolean
}

/** How an attempt ended, besides what became of people. */
export type AttemptEnd = {
  /** Everybody who was left of the batch was taken as wanted: written once for the batch, and not for each of them. */
  readonly whole: Written | null
  readonly requests: number
  readonly dueAt: Date
  readonly failure: { readonly code: DeliveryFailureCode | null; readonly message: string } | null
  /** `failed`: one more failure in a row; `withheld`: nothing was tried, because the platform is unwell; `paused`: it counts as none. */
  readonly as: 'settled' | 'failed' | 'withheld' | 'paused'
  /** Something got through before. */
  readonly progressed: boolean
  /** A request of the batch may have reached the platform, or still may. */
  readonly uncertain: boolean
  readonly now: Date
}

/**
 * Ends this attempt: counts its requests, and either closes the batch or lets go of it until `dueAt`. Null: another attempt has
 * taken the batch over.
 */
export async function endDelivery(db: Db, claim: ClaimedDelivery, end: AttemptEnd): Promise<Settled | null> {
  const ended = end.whole ? await answerBatch(db, claim, { ...end, whole: end.whole }) : await letGo(db, claim, end)
  return ended && { ...ended, remaining: ended.people - ended.confirmed - ended.refused }
}

type Ended = Omit<Settled, 'remaining'>

// Nobody waits for the disk: a database that loses its last moments has the batch due still, and it is sent again.
async function answerBatch(
  db: Db,
  claim: ClaimedDelivery,
  { whole, requests, dueAt, uncertain, now }: AttemptEnd & { readonly whole: Written },
): Promise<Ended | null> {
  const { runId, batch, attempt, connection } = claim
  const answer = commonAnswer(whole.outcomes)
  const others = whole.outcomes.filter((outcome) => !sameAnswer(outcome.answer, answer))
  const ended = sql`ended as (
      update deliveries set state = 'done', lease = null, due_at = ${dueAt}, requests = requests + ${requests},
        answer = ${JSON.stringify(answer)}, sent_at = ${whole.sentAt}, answered_at = ${whole.now}, confirmed = people - refused,
        uncertain = false, failures = 0, failing_since = null, last_code = null, last_failure = null
      where run_id = ${runId} and batch = ${batch} and attempts = ${attempt} and state = 'due'
      returning people, confirmed, refused
    )`
  const told = sql`told as (${changesAs(claim, { ...whole, outcomes: others })} and exists (select 1 from ended))`
  const late = sql`late as (${rechecked({ runId, batch, at: recheckTime(now) })} and exists (select 1 from ended))`
  const solved = sql`solved as (
      delete from problems using ended, changes
      where problems.connection = ${connection} and changes.run_id = ${runId} and changes.batch = ${batch}
        and changes.identity_id = problems.identity_id and changes.state in ('due', 'confirmed')
    )`
  // What is seldom needed costs planning in every batch.
  const parts = [
    ended,
    ...(others.length > 0 ? [told] : []),
    ...(uncertain ? [late] : []),
    ...(claim.hasProblems ? [solved] : []),
  ]
  const { rows } = await sql<Ended>`
    with ${sql.join(parts)}
    select people, confirmed, refused, ${blocked(connection)} as "isBlocked", set_config('synchronous_commit', 'off', true)
    from ended`.execute(db)
  const [row] = rows
  if (!row) return null
  const { people, confirmed, refused, isBlocked } = row
  return { people, confirmed, refused, isBlocked }
}

async function letGo(db: Db, claim: ClaimedDelivery, end: AttemptEnd): Promise<Ended | null> {
  return await db.transaction().execute(async (tx) => {
    const delivery = await heldDelivery(tx, claim)
      .select(blocked(claim.connection).as('isBlocked'))
      .forUpdate()
      .executeTakeFirst()
    if (!delivery) return null
    const { people, confirmed, refused, isBlocked } = delivery
    const isDone = people === confirmed + refused
    const { failures, failingSince } = isDone ? { failures: 0, failingSince: null } : failing(delivery, end)
    await tx
      .updateTable('deliveries')
      .set({
        state: isDone ? 'done' : 'due',
        lease: null,
        due_at: end.dueAt,
        requests: sql`requests + ${end.requests}`,
        uncertain: !isDone && end.uncertain,
        failures,
        failing_since: failingSince,
        last_code: end.failure?.code ?? null,
        last_failure: end.failure?.message ?? null,
      })
      .where((eb) => eb.and(held(claim)))
      .execute()
    if (isDone && end.uncertain) await rechecked({ ...claim, at: recheckTime(end.now) }).execute(tx)
    return { people, confirmed, refused, isBlocked }
  })
}

/** Ends a run once nothing of it is due any more. True for the one of several who find that at once whose word it is. */
export async function closeRun(db: Db, runId: string, now: Date): Promise<boolean> {
  const { open, refused } = await db
    .selectFrom('deliveries')
    .select([sql<boolean>`bool_or(state = 'due')`.as('open'), sql<boolean>`bool_or(refused > 0)`.as('refused')])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  return !open && (await moveRun(db, { id: runId, to: refused ? 'finished_with_problems' : 'finished', now }))
}

/** The runs that deliver though nothing of them is due: whoever sent the last batch ended before it could say so. */
export async function runsToClose(db: Db): Promise<{ readonly runId: string; readonly connection: string }[]> {
  return await db
    .selectFrom('runs')
    .select(['id as runId', 'connection'])
    .where('state', '=', 'delivering')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('deliveries')
            .select('batch')
            .whereRef('deliveries.run_id', '=', 'runs.id')
            .where('deliveries.state', '=', 'due'),
        ),
      ),
    )
    .execute()
}

/** How often the batch has failed in a row after this attempt, and since when nothing of it got through. */
function failing(
  held: { readonly failures: number; readonly failing_since: Date | null },
  { as, progressed, now }: AttemptEnd,
): { failures: number; failingSince: Date | null } {
  switch (as) {
    case 'settled':
      return { failures: 0, failingSince: null }
    case 'failed':
      return progressed
        ? { failures: 1, failingSince: now }
        : { failures: held.failures + 1, failingSince: held.failing_since ?? now }
    case 'withheld':
      return { failures: held.failures, failingSince: held.failing_since ?? now }
    case 'paused':
      return { failures: held.failures, failingSince: held.failing_since }
    default:
      return as satisfies never
  }
}

/** What an attempt has found out counts at once, however the attempt ends. */
async function countOutcomes(tx: Db, claim: ClaimedDelivery): Promise<void> {
  const { runId, batch } = claim
  const tally = (state: string) => sql<number>`(
    select count(*) from changes where run_id = ${runId} and batch = ${batch} and state = ${state})`
  await tx
    .updateTable('deliveries')
    .set({ confirmed: tally('confirmed'), refused: tally('problem') })
    .where((eb) => eb.and(held(claim)))
    .execute()
}

export type DueDelivery = {
  readonly runId: string
  readonly batch: number
  readonly kind: DeliveryKind
  readonly jobId: string
}

/**
 * What is due and nobody who lives works on. The job id is the same for as long as the batch is merely queued, so that enqueueing
 * it again does nothing; after each attempt it is a new one, so that neither an abandoned job nor one that the queue keeps for later
 * stands in the way.
 */
export async function dueDeliveries(db: Db, options: { now: Date; runId?: string }): Promise<DueDelivery[]> {
  let query = db
    .selectFrom('deliveries')
    .innerJoin('runs', 'runs.id', 'deliveries.run_id')
    .select(['deliveries.run_id', 'deliveries.batch', 'deliveries.kind', 'deliveries.attempts'])
    .where('runs.state', '=', 'delivering')
    .where('deliveries.state', '=', 'due')
    .where('deliveries.due_at', '<=', options.now)
    .where(unleased(sql`deliveries.lease`))
    .orderBy('deliveries.run_id')
    .orderBy('deliveries.batch')
  if (options.runId !== undefined) query = query.where('deliveries.run_id', '=', options.runId)
  const rows = await query.execute()
  return rows.map((row) => ({
    runId: row.run_id,
    batch: row.batch,
    kind: row.kind as DeliveryKind,
    jobId: `${row.run_id}-${row.batch}-${row.attempts}`,
  }))
}

/** Makes everything of a connection that waits for its time due now; answers how many people that concerns. */
export async function hasten(db: Db, { connection, now }: { connection: string; now: Date }): Promise<number> {
  const { rows } = await sql<{ people: number }>`
    with hastened as (
      update deliveries set due_at = least(due_at, ${now}::timestamptz) from runs
      where deliveries.state = 'due' and runs.id = deliveries.run_id and runs.connection = ${connection} and runs.state = 'delivering'
      returning people - confirmed - refused as people
    ) select coalesce(sum(people), 0)::int as people from hastened`.execute(db)
  return rows[0]?.people ?? 0
}

/** In SQL, whether a connection is blocked. */
function blocked(connection: string): RawBuilder<boolean> {
  return sql<boolean>`(select blocked_at is not null from connections where name = ${connection})`
}

/** Forgets what the platform held of people before they were taken with their whole batch; until then the view `out_of_sync` leaves them out. */
export async function forgetAnswered(db: Db, connection: string): Promise<void> {
  await sql`
    delete from acknowledged using changes, deliveries
    where acknowledged.connection = ${connection} and changes.run_id = acknowledged.run_id
      and changes.identity_id = acknowledged.identity_id and changes.state in ('due', 'confirmed')
      and deliveries.run_id = changes.run_id and deliveries.batch = changes.batch and deliveries.answer is not null`.execute(
    db,
  )
}

function heldDelivery(tx: Db, claim: ClaimedDelivery) {
  return tx
    .selectFrom('deliveries')
    .select(['people', 'confirmed', 'refused', 'failures', 'failing_since'])
    .where((eb) => eb.and(held(claim)))
}

/** The delivery's row, for as long as it is this attempt's. */
function held({ runId, batch, attempt }: ClaimedDelivery) {
  return { run_id: runId, batch, attempts: attempt, state: 'due' }
}

async function holdsDelivery(tx: Db, claim: ClaimedDelivery) {
  return await heldDelivery(tx, claim).forUpdate().executeTakeFirst()
}
