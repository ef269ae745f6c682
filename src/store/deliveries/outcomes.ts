import { type RawBuilder, sql } from 'kysely'
import type { IdentityRecord } from '../../identity/record.ts'
import { type NewEntry, recordAuditEntries } from '../audit/trail.ts'
import type { RunOfConnection } from '../keys.ts'
import { recordLeaverOutcomes } from '../leavers/record-departures.ts'
import { oneByOne } from '../one-by-one.ts'
import type { Answer, Db } from '../schema.ts'
import { type ClaimedDelivery, heldBy, lockDelivery } from './claim.ts'
import type { Step } from './pending.ts'

/** The outcome of one request for one person. `holds`: what the platform has now; undefined if that did not change. */
export type PersonOutcome = {
  readonly identityId: string
  readonly state: 'confirmed' | 'problem' | 'due'
  readonly step?: Step
  readonly holds?: 'desired' | { readonly confirmed: IdentityRecord | null }
  readonly answer: Answer
}

/** The outcome of one request, with its times. */
export type RequestOutcome = {
  readonly people: readonly PersonOutcome[]
  readonly sentAt: Date
  readonly answeredAt: Date
  /** The keys of those who have a leaving date. */
  readonly leavers: readonly string[]
  /** The entries for the audit trail. */
  readonly auditEntries: readonly NewEntry[]
}

/**
 * Records the outcome of a request in one transaction: changes, records of the platform, problems and counts of the batch. False: another
 * attempt has taken the batch over, and nothing was written.
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
    await recordAuditEntries(tx, outcome.auditEntries)
    return true
  })
}

/** The statement that records the outcomes of single people. Conditions may follow it. */
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
  const onPlatform = people.flatMap(({ identityId, state, holds }) =>
    typeof holds === 'object' ? [{ identityId, runId: state === 'due' ? claim.runId : null, ...holds }] : [],
  )
  if (onPlatform.length === 0) return
  await sql`
    insert into acknowledged (connection, identity_id, confirmed, run_id)
    select ${claim.connection}, "identityId", confirmed, "runId"
    from jsonb_to_recordset(${JSON.stringify(onPlatform)}::jsonb) as o("identityId" text, confirmed jsonb, "runId" uuid)
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

/** Counts are updated with each outcome, however the attempt ends. */
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

/** Removes rows of `acknowledged` that are superseded by the answer for a whole batch. The view `out_of_sync` ignores them until then. */
export async function deleteAnswered(db: Db, connection: string): Promise<void> {
  await sql`
    delete from acknowledged
    where connection = ${connection} and exists (
      select 1 from changes join deliveries using (run_id, batch)
      where run_id = acknowledged.run_id and changes.identity_id = acknowledged.identity_id
        and changes.state in ('due', 'confirmed') and deliveries.answer is not null ${oneByOne})`.execute(db)
}

/**
 * The same for one run when it ends. After a first run that is nearly everybody, so the rows are joined instead of looked up one by one.
 * The next plan removes what an interrupted call leaves.
 */
export async function deleteAnsweredOf(db: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // The statistics do not cover a run that was just written, so PostgreSQL would look up each person by key.
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
