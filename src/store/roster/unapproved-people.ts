import { type RawBuilder, sql } from 'kysely'
import type { HeldAgain, StatedOtherwise, UnapprovedPeople } from '../../identity/decide/unapproved.ts'
import type { PersonKey, RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

type RecordInput = {
  readonly runId: string
  readonly now: Date
  /** Only people whose departure the plan would send. */
  readonly onlyLeavers?: boolean
}

/** In SQL, the kind under which a row of `changes` waits for an approval. */
const waitingKind = sql<string>`(case changes.kind when 'correct' then 'leave' else changes.kind end)`

/** In SQL, whether a row of `changes` is of the kind that waits. */
export const isOfKind = sql<boolean>`(waiting.kind = ${waitingKind})`

/** In SQL, whether a departure in `changes` follows from nothing but the absence of the person, so that it has no row. */
const isOfMissing = sql<boolean>`(changes.inferred and changes.origin is null)`

/** In SQL, whether a row of `changes` is about a departure. */
const leaves = sql<boolean>`(${waitingKind} = 'leave' or (changes.kind = 'join' and changes.separated_at is not null))`

/**
 * Records the people of a held plan whose change nobody approved, so that every later plan holds such a change of theirs, however few they
 * are: whatever feed states it, and whatever becomes of this plan. Changes that were accepted before and are only sent again do not count,
 * nor do those that only a person asked for, nor deletions, which always wait for an approval. Other values than a departure need exports of
 * everybody, as nothing else ends their waiting.
 */
export async function recordUnapproved(tx: Db, { runId, onlyLeavers = false, now }: RecordInput): Promise<void> {
  const hasExports = sql`exists (
    select from runs known where known.connection = runs.connection and known.feed = 'source' and known.mode = 'snapshot'
      and known.created_at > ${now}::timestamptz - interval '7 days')`
  const ofKind = onlyLeavers
    ? leaves
    : sql`changes.kind <> 'retract' and (${leaves} or runs.feed = 'source' and runs.mode = 'snapshot' or ${hasExports})`
  await sql`
    insert into unapproved_people (connection, identity_id, kind, is_of_missing, deferred_to, run_id, as_of, since)
    select runs.connection, changes.identity_id, ${waitingKind}, ${isOfMissing}, roster.deferred_to, runs.id,
      coalesce(runs.as_of, runs.created_at), ${now}
    from changes join runs on runs.id = changes.run_id
      left join roster on roster.connection = runs.connection and roster.identity_id = changes.identity_id
    where runs.id = ${runId} and runs.feed in ('source', 'webhook', 'roster') and not runs.options ? 'retract'
      and not changes.carried and ${ofKind}
    on conflict (connection, identity_id, kind) do update set
      is_of_missing = unapproved_people.is_of_missing and excluded.is_of_missing,
      run_id = excluded.run_id, as_of = greatest(unapproved_people.as_of, excluded.as_of), ended_by = null`.execute(tx)
}

/** What waits of the people of a connection who were left out when a part of their plan was approved. */
export async function unapprovedPeople(db: Db, connection: string): Promise<UnapprovedPeople> {
  const rows = await db
    .selectFrom('unapproved_people')
    .select(['identity_id as identityId', 'kind', 'is_of_missing as isOfMissing', 'deferred_to as deferredBefore'])
    .where('connection', '=', connection)
    .execute()
  const byKey = Map.groupBy(rows, ({ identityId }) => identityId)
  return new Map(
    [...byKey].map(([identityId, ofPerson]) => [identityId, ofPerson.map(({ identityId: _, ...of }) => of)]),
  )
}

type PlannedChanges<C> = RunOfConnection & { readonly changes: readonly C[] }

/** Records which changes that were left out a plan makes again. */
export async function markHeldAgain(tx: Db, { runId, connection, changes }: PlannedChanges<HeldAgain>): Promise<void> {
  if (changes.length === 0) return
  await sql`
    update unapproved_people waiting set held_by = ${runId}
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as held("identityId" text, kind text)
    where waiting.connection = ${connection} and waiting.identity_id = held."identityId" and waiting.kind = held.kind`.execute(
    tx,
  )
}

/** In SQL, whether a row of `changes` makes a change again that was left out, as `markHeldAgain` recorded of this run. */
export function isHeldAgain(runId: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from unapproved_people waiting where waiting.held_by = ${runId} and waiting.identity_id = changes.identity_id)`
}

/** In SQL, whether a row of `changes` is of a kind that was left out of a part before a time (ISO instant). */
export function wasLeftOut(connection: string, before: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from unapproved_people waiting
    where waiting.connection = ${connection} and waiting.identity_id = changes.identity_id and ${isOfKind}
      and waiting.since < ${before})`
}

/** Records that the changes of a run are now held by another one. */
export async function moveHeldAgain(
  tx: Db,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  await tx.updateTable('unapproved_people').set({ held_by: to }).where('held_by', '=', from).execute()
}

/** Records which people a planned export states without the change. It waits no longer once that plan is accepted. An older fact ends nothing. */
export async function planUnapprovedEnds(
  tx: Db,
  { runId, connection, changes }: PlannedChanges<StatedOtherwise>,
): Promise<void> {
  if (changes.length === 0) return
  await sql`
    update unapproved_people waiting set ended_by = ${runId}
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as stated("identityId" text, kind text, "asOf" timestamptz)
    where waiting.connection = ${connection} and waiting.identity_id = stated."identityId" and waiting.kind = stated.kind
      and waiting.as_of < stated."asOf"`.execute(tx)
}

/** Ends the waiting of people whom the source of a plan states without the change. */
export async function endStatedOtherwise(tx: Db, runId: string): Promise<void> {
  await tx.deleteFrom('unapproved_people').where('ended_by', '=', runId).execute()
}

/**
 * Ends the waiting of people for whom an accepted plan makes the change that was left out, because somebody approved that. A departure is
 * not approved by a statement that can be withdrawn, nor by a date to come of somebody who was only missing, nor anything by a run that
 * undoes another one. Whoever is deleted waits for nothing.
 */
export async function endApproved(tx: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await sql`
    delete from unapproved_people waiting using changes, runs
    where runs.id = ${runId} and runs.feed <> 'revert' and changes.run_id = ${runId} and not changes.carried
      and waiting.connection = ${connection} and waiting.identity_id = changes.identity_id 
      and (changes.kind = 'retract' or ${isOfKind} and (waiting.kind <> 'leave' or not waiting.is_of_missing or changes.inferred
        or changes.separated_at::timestamptz <= coalesce(runs.as_of, runs.created_at)))
      and not exists (
        select from stated_departures stated
        where stated.connection = ${connection} and stated.identity_id = waiting.identity_id and stated.applies)`.execute(
    tx,
  )
}

/** Ends the waiting of one person, about whom somebody has decided otherwise. */
export async function dropUnapproved(tx: Db, { connection, identityId }: PersonKey): Promise<void> {
  await tx
    .deleteFrom('unapproved_people')
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .execute()
}
