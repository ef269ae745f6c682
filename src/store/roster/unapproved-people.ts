import { type RawBuilder, sql } from 'kysely'
import type { StatedOtherwise, UnapprovedPeople } from '../../identity/decide/unapproved.ts'
import type { ConnectionAt, PersonKey, RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

type RecordInput = {
  readonly runId: string
  readonly now: Date
  /** Only people whose departure the plan would send. */
  readonly onlyLeavers?: boolean
}

/** In SQL, whether a row of `changes` is about a departure. */
const leaves = sql<boolean>`(changes.kind in ('leave', 'correct') or (changes.kind = 'join' and changes.separated_at is not null))`

/** In SQL, whether a change is of the sort that was left out. A joiner waits in whatever state. */
export const isOfSort = sql<boolean>`(changes.kind = 'join' or waiting.departs = (changes.kind in ('leave', 'correct')))`

/**
 * Records the people of a held plan whose change nobody approved, so that every later plan holds them, however few they are: whatever feed
 * states their change, and whatever becomes of this plan. Changes that were accepted before and are only sent again do not count, nor do
 * those that only a person asked for. Other values than a departure are held only if an export of everybody states them again.
 */
export async function recordUnapproved(tx: Db, { runId, onlyLeavers = false, now }: RecordInput): Promise<void> {
  const ofKind = onlyLeavers ? leaves : sql`(${leaves} or runs.mode = 'snapshot')`
  await sql`
    insert into unapproved_people (connection, identity_id, departs, run_id, as_of, since)
    select runs.connection, changes.identity_id, ${leaves}, runs.id, coalesce(runs.as_of, runs.created_at), ${now}
    from changes join runs on runs.id = changes.run_id
    where runs.id = ${runId} and runs.feed in ('source', 'webhook', 'roster') and not runs.options ? 'retract'
      and not changes.carried and ${ofKind}
    on conflict (connection, identity_id) do update set
      departs = unapproved_people.departs or excluded.departs,
      run_id = excluded.run_id, as_of = greatest(unapproved_people.as_of, excluded.as_of), ended_by = null`.execute(tx)
}

/** The people of a connection who were left out when a part of their plan was approved, and of whom nobody has approved a change since. */
export async function unapprovedPeople(db: Db, connection: string): Promise<UnapprovedPeople> {
  const rows = await db
    .selectFrom('unapproved_people')
    .select(['identity_id', 'departs'])
    .where('connection', '=', connection)
    .execute()
  return new Map(rows.map(({ identity_id, departs }) => [identity_id, { departs }]))
}

/**
 * In SQL, whether a row of `changes` waits for an approval: it is about a departure if that was left out, and about other values if those were.
 * A departure that an operator states, and whose day has come, is approved.
 */
export function isUnapproved({ connection, now }: ConnectionAt): RawBuilder<boolean> {
  return sql<boolean>`(exists (
    select from unapproved_people waiting where waiting.connection = ${connection} and waiting.identity_id = changes.identity_id
      and ${isOfSort})
    and not exists (
      select from stated_departures stated
      where stated.connection = ${connection} and stated.identity_id = changes.identity_id and stated.applies and stated.due_at <= ${now}))`
}

type PlannedEnds = RunOfConnection & { readonly people: readonly StatedOtherwise[] }

/** Records which people a planned export states without a change. They wait no longer once that plan is accepted. An older fact ends nothing. */
export async function planUnapprovedEnds(tx: Db, { runId, connection, people }: PlannedEnds): Promise<void> {
  if (people.length === 0) return
  await sql`
    update unapproved_people set ended_by = ${runId}
    from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as stated("identityId" text, "asOf" timestamptz)
    where connection = ${connection} and identity_id = stated."identityId" and as_of < stated."asOf"`.execute(tx)
}

/** Ends the waiting of people whom the source of a plan states without a change. */
export async function endStatedOtherwise(tx: Db, runId: string): Promise<void> {
  await tx.deleteFrom('unapproved_people').where('ended_by', '=', runId).execute()
}

/**
 * Ends the waiting of people of whom an accepted plan changes something, because somebody approved that. A departure that waits is not
 * approved by another change, nor by a statement that can be withdrawn, nor anything by a run that undoes another one.
 */
export async function endApproved(tx: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await sql`
    delete from unapproved_people waiting using changes, runs
    where runs.id = ${runId} and runs.feed <> 'revert' and changes.run_id = ${runId} and not changes.carried
      and waiting.connection = ${connection} and waiting.identity_id = changes.identity_id
      and ${isOfSort}
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
