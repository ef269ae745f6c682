import { type RawBuilder, sql } from 'kysely'
import type { IdentityRecord } from '../../identity/record.ts'
import { type NewEntry, recordAuditEntries } from '../audit/trail.ts'
import type { RunOfConnection } from '../keys.ts'
import { recordLeaverOutcomes } from '../leavers/clock.ts'
import { oneByOne } from '../one-by-one.ts'
import type { Answer, Db } from '../schema.ts'
import { type ClaimedDelivery, heldBy, lockDelivery } from './claim.ts'
import type { Step } from './pending.ts'

/** What became of one person in one request. `holds` is what the platform has now; left out if that did not change. */
export type PersonOutcome = {
  readonly identityId: string
  readonly state: 'confirmed' | 'problem' | 'due'
  readonly step?: Step
  readonly holds?: 'desired' | { readonly confirmed: IdentityRecord | null }
  readonly answer: Answer
}

/** What became of people, when the request about them was sent, and when it was answered. */
export type RequestOutcome = {
  readonly people: readonly PersonOutcome[]
  readonly sentAt: Date
  readonly answeredAt: Date
  /** The keys of those of them who have a leaving date. */
  readonly leavers: readonly string[]
  /** What the audit trail is to hold of it. */
  readonly acts: readonly NewEntry[]
}

/**
 * Writes what became of some people of a batch, all in one transaction: their changes, what the platform holds of them, their
 * problems and the counts of the batch. False: another attempt has taken the batch over, and nothing was written.
 */
export async function recordOutcomes(db: Db, claim: ClaimedDelivery, outcome: RequestOutcome): Promise<boolean> {
  const { people } = outcome
  return await db.transaction().execute(async (tx) => {
    if (!(await lockDelivery(tx, claim))) return false
    await updateChanges(claim, outcome).execute(tx)
    await dropAcknowledged(tx, claim, people)
    await storePlatformRecords(tx, claim, people)
    await dropProblems(tx, claim, people)
    await recordProblems(tx, claim, outcome)
    if (outcome.leavers.length > 0) await recordLeaverOutcomes(tx, claim, outcome)
    await countOutcomes(tx, claim)
    await recordAuditEntries(tx, outcome.acts)
    return true
  })
}

/** The statement that writes what became of single people. Further conditions may follow it. */
export function updateChanges(
  { runId }: ClaimedDelivery,
  { people, sentAt, answeredAt }: RequestOutcome,
): RawBuilder<unknown> {
  return sql`
    update changes set state = o.state, step = coalesce(o.step, changes.step), requests = requests + 1,
      sent_at = ${sentAt}, answered_at = ${answeredAt}, answer = o.answer
    from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as o("identityId" text, state text, step text, answer jsonb)
    where changes.run_id = ${runId} and changes.identity_id = o."identityId"`
}

async function dropAcknowledged(
  tx: Db,
  { connection }: ClaimedDelivery,
  people: readonly PersonOutcome[],
): Promise<void> {
  const asDesired = people.filter(({ holds }) => holds === 'desired').map(({ identityId }) => identityId)
  await sql`delete from acknowledged where connection = ${connection} and identity_id = any(${asDesired})`.execute(tx)
}

async function storePlatformRecords(tx: Db, claim: ClaimedDelivery, people: readonly PersonOutcome[]): Promise<void> {
  const held = people.flatMap(({ identityId, state, holds }) =>
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

async function dropProblems(tx: Db, { connection }: ClaimedDelivery, people: readonly PersonOutcome[]): Promise<void> {
  const confirmed = people.filter(({ state }) => state === 'confirmed').map(({ identityId }) => identityId)
  await sql`delete from problems where connection = ${connection} and identity_id = any(${confirmed})`.execute(tx)
}

async function recordProblems(tx: Db, claim: ClaimedDelivery, { people, answeredAt }: RequestOutcome): Promise<void> {
  const refused = people.filter(({ state }) => state === 'problem')
  if (refused.length === 0) return
  await sql`
    insert into problems (connection, identity_id, run_id, kind, status, message, first_at, last_at)
    select ${claim.connection}, changes.identity_id, changes.run_id, changes.kind,
      case when jsonb_typeof(o.answer -> 'status') = 'number' then (o.answer ->> 'status')::int end,
      coalesce(o.answer ->> 'message', 'the platform gave no reason'), ${answeredAt}, ${answeredAt}
    from jsonb_to_recordset(${JSON.stringify(refused)}::jsonb) as o("identityId" text, answer jsonb)
    join changes on changes.run_id = ${claim.runId} and changes.identity_id = o."identityId"
    on conflict (connection, identity_id) do update set
      run_id = excluded.run_id, kind = excluded.kind, status = excluded.status, message = excluded.message,
      last_at = excluded.last_at, times = problems.times + 1`.execute(tx)
}

/** Outcomes count as soon as they are written, however the attempt ends. */
async function countOutcomes(tx: Db, claim: ClaimedDelivery): Promise<void> {
  const { runId, batch } = claim
  const tally = (state: string) => sql<number>`(
    select count(*) from changes where run_id = ${runId} and batch = ${batch} and state = ${state})`
  await tx
    .updateTable('deliveries')
    .set({ confirmed: tally('confirmed'), refused: tally('problem') })
    .where((eb) => eb.and(heldBy(claim)))
    .execute()
}

/**
 * Removes what the platform held of people before it took them with their whole batch. Until then the view `out_of_sync` leaves
 * them out.
 */
export async function deleteAnswered(db: Db, connection: string): Promise<void> {
  await sql`
    delete from acknowledged
    where connection = ${connection} and exists (
      select 1 from changes join deliveries using (run_id, batch)
      where run_id = acknowledged.run_id and changes.identity_id = acknowledged.identity_id
        and changes.state in ('due', 'confirmed') and deliveries.answer is not null ${oneByOne})`.execute(db)
}

/**
 * The same of one run, at its end. After a first night that is everybody, so the rows are matched in one pass and not one by one. What an
 * end that was cut off leaves behind is removed with the next plan.
 */
export async function deleteAnsweredOf(db: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // The statistics know nothing of a run that was just written, so PostgreSQL would look each of its people up by key.
    await sql`set local enable_nestloop = off`.execute(tx)
    await sql`
      delete from acknowledged using changes, deliveries
      where acknowledged.connection = ${connection} and acknowledged.run_id = ${runId}
        and changes.run_id = ${runId} and changes.identity_id = acknowledged.identity_id and changes.state in ('due', 'confirmed')
        and deliveries.run_id = ${runId} and deliveries.batch = changes.batch and deliveries.answer is not null`.execute(
      tx,
    )
  })
}
