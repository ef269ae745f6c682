import { type RawBuilder, sql } from 'kysely'
import type { DeliveryFailureCode } from '../../contract/failures.ts'
import { prepared } from '../../database/prepared.ts'
import { pendingInsert } from '../audit/trail.ts'
import { markInDoubt } from '../in-doubt.ts'
import { updateLeaversOfBatch } from '../leavers/clock.ts'
import { moveRun } from '../runs/runs.ts'
import type { Answer, Db } from '../schema.ts'
import { type ClaimedDelivery, heldBy, lockDelivery } from './claim.ts'
import { type PersonOutcome, type RequestOutcome, updateChanges } from './outcomes.ts'

/** How an attempt ended, besides what became of people. */
export type AttemptEnd = {
  /** All who were left of the batch were taken as desired, which is written once for the batch and not for each of them. */
  readonly batchOutcome: RequestOutcome | null
  readonly requests: number
  readonly dueAt: Date
  readonly failure: { readonly code: DeliveryFailureCode | null; readonly message: string } | null
  /** `failed`: one more failure in a row; `withheld`: no failure, and yet nothing gets through; `paused`: no failure. */
  readonly as: 'settled' | 'failed' | 'withheld' | 'paused'
  /** Something got through before. */
  readonly progressed: boolean
  /** A request of the batch may have reached the platform, or still may. */
  readonly uncertain: boolean
  /** The keys of the people who were settled by this attempt. */
  readonly settled: readonly string[]
  readonly now: Date
}

/** A batch after an attempt at it. */
export type EndedAttempt = {
  readonly remaining: number
  readonly confirmed: number
  readonly refused: number
  readonly people: number
  /** The connection is blocked, perhaps since this batch was claimed. */
  readonly isBlocked: boolean
  /** A later batch of the run waits for a worker: whoever ends that one sees whether the run is over. If that ever came first, the sweep sees it. */
  readonly hasMore: boolean
}

type Counts = Omit<EndedAttempt, 'remaining'>

/**
 * Ends this attempt: counts its requests, and either closes the batch or releases it until `dueAt`. Null: another attempt has taken
 * the batch over.
 */
export async function endAttempt(db: Db, claim: ClaimedDelivery, end: AttemptEnd): Promise<EndedAttempt | null> {
  const { batchOutcome } = end
  const ended = batchOutcome
    ? await closeBatch(db, claim, { ...end, batchOutcome })
    : await releaseBatch(db, claim, end)
  return ended && { ...ended, remaining: ended.people - ended.confirmed - ended.refused }
}

// The commit does not wait for the disk: a database that loses its last moments has the batch due still, and it is sent again.
type BatchEnd = AttemptEnd & {
  readonly batchOutcome: RequestOutcome
}

async function closeBatch(
  db: Db,
  claim: ClaimedDelivery,
  { batchOutcome, requests, dueAt, uncertain, settled, now }: BatchEnd,
): Promise<Counts | null> {
  const { runId, batch, attempt, connection } = claim
  const { sentAt, answeredAt } = batchOutcome
  const answer = commonAnswer(batchOutcome.people)
  const others = batchOutcome.people.filter((person) => !sameAnswer(person.answer, answer))
  const ended = sql`ended as (
      update deliveries set state = 'done', lease = null, due_at = ${dueAt}, requests = requests + ${requests},
        answer = ${JSON.stringify(answer)}, sent_at = ${sentAt}, answered_at = ${answeredAt}, confirmed = people - refused,
        uncertain = false, failures = 0, failing_since = null, last_code = null, last_failure = null
      where run_id = ${runId} and batch = ${batch} and attempts = ${attempt} and state = 'due'
      returning people, confirmed, refused
    )`
  const ownAnswers = sql`own_answers as (
      ${updateChanges(claim, { ...batchOutcome, people: others })} and exists (select 1 from ended)
    )`
  // Also those whom an earlier request of this attempt has settled.
  const settledNow = sql`(changes.state = 'due' or changes.identity_id = any(${settled})) and exists (select 1 from ended)`
  const doubted = sql`doubted as (${markInDoubt({ runId, batch, now, where: settledNow })})`
  const solved = sql`solved as (
      delete from problems using ended, changes
      where problems.connection = ${connection} and changes.run_id = ${runId} and changes.batch = ${batch}
        and changes.identity_id = problems.identity_id and changes.state in ('due', 'confirmed')
    )`
  const audited = sql`audited as (${pendingInsert(db, batchOutcome.acts)} where exists (select 1 from ended))`
  const left = sql`departed as (${updateLeaversOfBatch(claim, batchOutcome)} and exists (select 1 from ended))`
  // Each part costs planning time, so a batch names only those that it needs.
  const parts = [
    ended,
    ...(batchOutcome.acts.length > 0 ? [audited] : []),
    ...(others.length > 0 ? [ownAnswers] : []),
    ...(uncertain ? [doubted] : []),
    ...(claim.hasProblems ? [solved] : []),
    ...(batchOutcome.leavers.length > 0 ? [left] : []),
  ]
  const { rows } = await sql<Counts>`${sql.raw(prepared)}
    with ${sql.join(parts)}
    select people, confirmed, refused, ${blocked(connection)} as "isBlocked",
      exists (
        select 1 from deliveries later
        where later.run_id = ${runId} and later.batch > ${batch} and later.state = 'due' and later.lease is null) as "hasMore",
      set_config('synchronous_commit', 'off', true)
    from ended`.execute(db)
  const [row] = rows
  if (!row) return null
  const { people, confirmed, refused, isBlocked, hasMore } = row
  return { people, confirmed, refused, isBlocked, hasMore }
}

/** The answer that most of them got. */
function commonAnswer(people: readonly PersonOutcome[]): Answer {
  const [first] = people
  if (first && people.every(({ answer }) => sameAnswer(answer, first.answer))) return first.answer
  const alike = Map.groupBy(people, ({ answer: { status, code = '', message = '' } }) => `${status} ${code} ${message}`)
  const [most] = [...alike.values()].sort((a, b) => b.length - a.length)
  return most?.[0]?.answer ?? { status: 0 }
}

function sameAnswer(a: Answer, b: Answer): boolean {
  return a.status === b.status && a.message === b.message && a.code === b.code
}

async function releaseBatch(db: Db, claim: ClaimedDelivery, end: AttemptEnd): Promise<Counts | null> {
  return await db.transaction().execute(async (tx) => {
    const delivery = await lockDelivery(tx, claim)
    if (!delivery) return null
    const { people, confirmed, refused } = delivery
    const isDone = people === confirmed + refused
    const { failures, failingSince } = isDone ? { failures: 0, failingSince: null } : failing(delivery, end)
    const { isBlocked } = await tx
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
        recent_attempts: [],
      })
      .where((eb) => eb.and(heldBy(claim)))
      .returning(blocked(claim.connection).as('isBlocked'))
      .executeTakeFirstOrThrow()
    // People who are still due come into doubt when they are settled.
    const settled = sql`changes.identity_id = any(${end.settled})`
    if (end.uncertain && end.settled.length > 0)
      await markInDoubt({ ...claim, now: end.now, where: settled }).execute(tx)
    return { people, confirmed, refused, isBlocked, hasMore: false }
  })
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
      return { failures: held.failures, failingSince: progressed ? now : (held.failing_since ?? now) }
    case 'paused':
      return { failures: held.failures, failingSince: held.failing_since }
    default:
      return as satisfies never
  }
}

/** In SQL, whether a connection is blocked. */
function blocked(connection: string): RawBuilder<boolean> {
  return sql<boolean>`(select blocked_at is not null from connections where name = ${connection})`
}

/** Whether anything of a run is due still. */
export async function isDue(db: Db, runId: string): Promise<boolean> {
  const due = await db
    .selectFrom('deliveries')
    .modifyFront(sql.raw(prepared))
    .select('batch')
    .where('run_id', '=', runId)
    .where('state', '=', 'due')
    .limit(1)
    .executeTakeFirst()
  return due !== undefined
}

/** Ends a run once nothing of it is due any more. True for one caller only, if several find that at once. */
export async function closeRun(db: Db, runId: string, now: Date): Promise<boolean> {
  const { open, refused } = await db
    .selectFrom('deliveries')
    .select([sql<boolean>`bool_or(state = 'due')`.as('open'), sql<boolean>`bool_or(refused > 0)`.as('refused')])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  return !open && (await moveRun(db, { id: runId, to: refused ? 'finished_with_problems' : 'finished', now }))
}

/** The runs that deliver though nothing of them is due: the process that delivered the last batch ended before it closed the run. */
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
