import { type RawBuilder, sql } from 'kysely'
import type { DeliveryFailureCode } from '../../contract/failures.ts'
import { prepared } from '../../database/prepared.ts'
import { recordAuditEntries } from '../audit/trail.ts'
import { markInDoubt } from '../in-doubt.ts'
import { updateLeaversOfBatch } from '../leavers/record-departures.ts'
import { setRunState } from '../runs/runs.ts'
import type { Answer, Db } from '../schema.ts'
import { type ClaimedDelivery, heldBy, lockDelivery } from './claim.ts'
import { type PersonOutcome, type RequestOutcome, updateChanges } from './outcomes.ts'

/** How an attempt ended, besides the outcomes of people. */
export type AttemptEnd = {
  /** The outcome if the platform took the rest of the batch as a whole: it is stored once and not for each person. */
  readonly batchOutcome: RequestOutcome | null
  readonly requests: number
  readonly dueAt: Date
  readonly failure: { readonly code: DeliveryFailureCode | null; readonly message: string } | null
  /** `failed`: one more consecutive failure; `withheld`: not sent, which counts as failing since then; `paused`: not a failure. */
  readonly as: 'completed' | 'failed' | 'withheld' | 'paused'
  /** The attempt delivered something before it ended. */
  readonly progressed: boolean
  /** A request of the batch may have reached the platform, or still may. */
  readonly uncertain: boolean
  /** The keys of the people whose outcome this attempt recorded. */
  readonly completed: readonly string[]
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
  /** A later batch of the run waits for a worker, which will close the run; otherwise the sweep does. */
  readonly hasMore: boolean
}

type Counts = Omit<EndedAttempt, 'remaining' | 'hasMore'>

/** Ends an attempt: counts its requests, and closes the batch or releases it until `dueAt`. Null: another attempt has taken it over. */
export async function endAttempt(db: Db, claim: ClaimedDelivery, end: AttemptEnd): Promise<EndedAttempt | null> {
  const { batchOutcome } = end
  const ended = batchOutcome
    ? await closeBatch(db, claim, { ...end, batchOutcome })
    : await releaseBatch(db, claim, end)
  if (ended === null) return null
  // Read after the commit: of two batches that end at the same time, the later one sees that both are done and closes the run.
  const hasMore = batchOutcome !== null && (await hasLaterBatch(db, claim))
  return { ...ended, hasMore, remaining: ended.people - ended.confirmed - ended.refused }
}

type BatchEnd = AttemptEnd & {
  readonly batchOutcome: RequestOutcome
}

/** Records the answer for a whole batch and closes it. People are read as due before their own answers are written. */
async function closeBatch(
  db: Db,
  claim: ClaimedDelivery,
  { batchOutcome, uncertain, completed, now, ...end }: BatchEnd,
): Promise<Counts | null> {
  const { runId, batch } = claim
  const answer = commonAnswer(batchOutcome.people)
  const others = batchOutcome.people.filter((person) => !sameAnswer(person.answer, answer))
  return await db.transaction().execute(async (tx) => {
    // The commit does not wait for the disk: if the database loses it, the batch is still due and is sent again.
    await sql`set local synchronous_commit = off`.execute(tx)
    const counts = await storeAnswer(tx, claim, { ...end, batchOutcome, answer })
    if (counts === null) return null
    if (uncertain) {
      const where = sql`(changes.state = 'due' or changes.identity_id = any(${completed}))`
      await markInDoubt({ runId, batch, now, where }).execute(tx)
    }
    if (claim.hasProblems) await dropProblemsOfBatch(tx, claim)
    if (batchOutcome.leavers.length > 0) await updateLeaversOfBatch(claim, batchOutcome).execute(tx)
    if (others.length > 0) await updateChanges(claim, { ...batchOutcome, people: others }).execute(tx)
    await recordAuditEntries(tx, batchOutcome.auditEntries)
    return counts
  })
}

type BatchAnswer = Pick<BatchEnd, 'batchOutcome' | 'requests' | 'dueAt'> & { readonly answer: Answer }

/** Marks a batch as done with its answer; null if another attempt has taken it over. */
async function storeAnswer(
  tx: Db,
  { runId, batch, attempt, connection }: ClaimedDelivery,
  { batchOutcome: { sentAt, answeredAt }, requests, dueAt, answer }: BatchAnswer,
): Promise<Counts | null> {
  const { rows } = await sql<Counts>`${sql.raw(prepared)}
    update deliveries set state = 'done', lease = null, due_at = ${dueAt}, requests = requests + ${requests},
      answer = ${JSON.stringify(answer)}, sent_at = ${sentAt}, answered_at = ${answeredAt}, confirmed = people - refused,
      uncertain = false, failures = 0, failing_since = null, last_code = null, last_failure = null
    where run_id = ${runId} and batch = ${batch} and attempts = ${attempt} and state = 'due'
    returning people, confirmed, refused, ${isConnectionBlocked(connection)} as "isBlocked"`.execute(tx)
  return rows[0] ?? null
}

/** Whether a later batch of the run waits for a worker. */
async function hasLaterBatch(db: Db, { runId, batch }: ClaimedDelivery): Promise<boolean> {
  const { rows } = await sql<{ hasMore: boolean }>`${sql.raw(prepared)}
    select exists (
      select 1 from deliveries
      where run_id = ${runId} and batch > ${batch} and state = 'due' and lease is null) as "hasMore"`.execute(db)
  return rows[0]?.hasMore === true
}

async function dropProblemsOfBatch(tx: Db, { runId, batch, connection }: ClaimedDelivery): Promise<void> {
  await sql`
    delete from problems using changes
    where problems.connection = ${connection} and changes.run_id = ${runId} and changes.batch = ${batch}
      and changes.identity_id = problems.identity_id and changes.state in ('due', 'confirmed')`.execute(tx)
}

/** The most frequent answer. */
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
    const { failures, failingSince } = isDone ? { failures: 0, failingSince: null } : countFailures(delivery, end)
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
      .returning(isConnectionBlocked(claim.connection).as('isBlocked'))
      .executeTakeFirstOrThrow()
    // People who are still due come into doubt when they are completed.
    const where = sql`changes.identity_id = any(${end.completed})`
    if (end.uncertain && end.completed.length > 0) await markInDoubt({ ...claim, now: end.now, where }).execute(tx)
    return { people, confirmed, refused, isBlocked }
  })
}

/** The number of consecutive failures after this attempt, and since when the batch fails. */
function countFailures(
  stored: { readonly failures: number; readonly failing_since: Date | null },
  { as, progressed, now }: AttemptEnd,
): { failures: number; failingSince: Date | null } {
  switch (as) {
    case 'completed':
      return { failures: 0, failingSince: null }
    case 'failed':
      return progressed
        ? { failures: 1, failingSince: now }
        : { failures: stored.failures + 1, failingSince: stored.failing_since ?? now }
    case 'withheld':
      return { failures: stored.failures, failingSince: progressed ? now : (stored.failing_since ?? now) }
    case 'paused':
      return { failures: stored.failures, failingSince: stored.failing_since }
    default:
      return as satisfies never
  }
}

/** In SQL, whether a connection is blocked. */
function isConnectionBlocked(connection: string): RawBuilder<boolean> {
  return sql<boolean>`(select blocked_at is not null from connections where name = ${connection})`
}

/** Whether a batch of a run is due. */
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

/** Closes a run if nothing of it is due. True for only one of several concurrent callers. */
export async function closeRun(db: Db, runId: string, now: Date): Promise<boolean> {
  const { open, refused } = await db
    .selectFrom('deliveries')
    .select([sql<boolean>`bool_or(state = 'due')`.as('open'), sql<boolean>`bool_or(refused > 0)`.as('refused')])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  return !open && (await setRunState(db, { id: runId, to: refused ? 'finished_with_problems' : 'finished', now }))
}

/** The delivering runs without a due batch: the process that delivered the last one ended before it closed the run. */
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
