import { sql } from 'kysely'
import { pluralize } from '../../identity/pluralize.ts'
import { recordAuditEntry, rollcall } from '../audit/trail.ts'
import { removedReason } from '../removed-reason.ts'
import { endStates } from '../runs/runs.ts'
import { purposeOf } from '../runs/slots.ts'
import type { Db } from '../schema.ts'
import { removeUnstatedParts } from '../statement/forget.ts'

/** How many days values and history are kept after a run has ended. */
export type Retention = { readonly valuesDays: number; readonly historyDays: number }

/** What one call removed. */
type RemovalCounts = {
  /** Runs that lost their values. */
  readonly runs: number
  /** Changes and rejected rows that lost their values. */
  readonly values: number
  /** Events that lost their body. */
  readonly events: number
  /** Runs that were removed completely. */
  readonly history: number
}

const dayMs = 24 * 60 * 60_000
/** Maximum number of rows per transaction. */
const batchSize = 2000
/** Maximum number of transactions per call; the next call continues. */
const portionsPerCall = 200
/** Maximum number of old runs that are removed per call. */
const runsPerCall = 20
/** Minimum number of runs of a connection that stay, because they define what is usual. */
const runsThatStay = 100

type RetentionInput = Retention & {
  readonly portions?: number
}

/** Removes what has reached the end of its retention, in small portions, so that no run waits for it. Can be repeated after a crash. */
export async function removeExpired(
  db: Db,
  { valuesDays, historyDays, portions = portionsPerCall }: RetentionInput,
  now: Date,
): Promise<RemovalCounts> {
  const before = new Date(now.getTime() - valuesDays * dayMs)
  let runs = 0
  let values = 0
  let last: Portion | null = null
  for (let portion = 0; portion < portions; portion++) {
    last = await removeValues(db, { before, last, now })
    if (last === null) break
    runs += last.isRunStripped ? 1 : 0
    values += last.rows
  }
  const events = await removeBodies(db, { before, valuesDays })
  const history = await removeHistory(db, { before: new Date(now.getTime() - historyDays * dayMs), portions })
  const act = { connection: null, by: rollcall, now }
  if (runs + events > 0) {
    await recordAuditEntry(db, {
      ...act,
      act: 'values.removed',
      details: { runs, values, events, before: before.toISOString() },
    })
  }
  if (history > 0) await recordAuditEntry(db, { ...act, act: 'history.removed', details: { runs: history } })
  return { runs, values, events, history }
}

/** A removed portion of values. */
type Portion = {
  readonly runId: string
  /** The last key of the portion. */
  readonly to: string
  readonly rows: number
  /** The run has no values any more. */
  readonly isRunStripped: boolean
}

type RemovalInput = {
  readonly before: Date
  /** The portion that was removed before this one. */
  readonly last: Portion | null
  readonly now: Date
}

/** Removes the next portion of values of the run that ended first; null if no run has values to remove. */
async function removeValues(db: Db, { before, last, now }: RemovalInput): Promise<Portion | null> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('values_removed_at', 'is', null)
    .where('finished_at', '<', before)
    .where('state', 'in', endStates)
    .orderBy('finished_at')
    .limit(1)
    .executeTakeFirst()
  if (!run) return null
  const runId = run.id
  return await db.transaction().execute(async (tx) => {
    const { rows: changes, to } = await stripChanges(tx, { runId, after: last?.runId === runId ? last.to : '' })
    const rows = changes + (await removeRejects(tx, runId))
    if (rows > 0) return { runId, to, rows, isRunStripped: false }
    await tx
      .updateTable('known_faults')
      .set({ reason: removedReason, cell: null })
      .where('run_id', '=', runId)
      .execute()
    await sql`delete from plan_entries where run_id = ${runId}`.execute(tx)
    await sql`delete from run_accounts where run_id = ${runId}`.execute(tx)
    await sql`update deliveries set answer = answer - 'message', last_failure = null where run_id = ${runId}`.execute(
      tx,
    )
    await tx.updateTable('runs').set({ values_removed_at: now }).where('id', '=', runId).execute()
    return { runId, to, rows, isRunStripped: true }
  })
}

/** In SQL, the fields of a joiner, which follow from the record. */
const ofJoiner = sql`(
      select jsonb_object_agg(field, jsonb_build_object('from', null, 'to', stated)
        || case when field = 'separatedAt' and changes.inferred then '{"inferred": true}'::jsonb else '{}' end)
      from json_each(case json_typeof(changes.record) when 'object' then changes.record end) as record(field, stated)
      where changes.kind = 'join' and field <> 'identityId' and json_typeof(stated) <> 'null')`

/** In SQL, the columns of a change without values. The leaving date stays. The message of an answer may quote values. */
export const withoutValues = sql`record = null, digest = null, group_value = null, answer = changes.answer - 'message',
  fields = (
    select jsonb_object_agg(name, case name when 'separatedAt' then value else '{"from": null, "to": null, "gone": true}' end)
    from jsonb_each(coalesce(changes.fields, ${ofJoiner})) as stored(name, value))`

/** In SQL, whether a reject still quotes a cell, and its columns without the quote. */
const quotesCell = sql<boolean>`(rejects.reason <> ${removedReason})`
const withoutCell = sql`reason = ${removedReason}, fingerprint = '', unlisted = null`

async function stripChanges(
  tx: Db,
  { runId, after }: { runId: string; after: string },
): Promise<{ readonly rows: number; readonly to: string }> {
  const withValues = sql`run_id = ${runId} and identity_id > ${after} and (record is not null or group_value is not null or answer ? 'message'
        or exists (select 1 from jsonb_each(fields) as stored(name, value) where name <> 'separatedAt' and not value ? 'gone'))`
  const { rows } = await sql<{ rows: number; to: string | null }>`
    with portion as materialized (
      select identity_id from changes where ${withValues} order by identity_id limit ${batchSize}
    ), stripped as (
      update changes set ${withoutValues}
      where ${withValues} and identity_id <= (select max(identity_id) from portion)
      returning identity_id
    )
    select count(*)::int as rows, max(identity_id) as to from stripped`.execute(tx)
  return { rows: rows[0]?.rows ?? 0, to: rows[0]?.to ?? after }
}

/**
 * Removes a portion of the rejects of a run. Those of rejected events lose only their values: the alert about possible leavers needs the
 * key until the event is retried or dismissed.
 */
async function removeRejects(tx: Db, runId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with portion as materialized (
      select rejects.seq, inbox.id is not null as stays from rejects
      left join inbox on inbox.id = rejects.event::bigint and inbox.run_id = rejects.run_id and inbox.state = 'rejected'
      where rejects.run_id = ${runId} and (inbox.id is null or ${quotesCell})
      limit ${batchSize}
    ), stripped as (
      update rejects set ${withoutCell} where run_id = ${runId} and seq in (select seq from portion where stays)
    ), dropped as (
      delete from rejects where run_id = ${runId} and seq in (select seq from portion where not stays)
    )
    select count(*)::int as count from portion`.execute(tx)
  return rows[0]?.count ?? 0
}

/** Removes the bodies of old rejected events and replaces their reasons. The events stay listed. */
async function removeBodies(db: Db, { before, valuesDays }: { before: Date; valuesDays: number }): Promise<number> {
  const removed = await sql`
    update inbox set body = null, reason = ${`it could not be used, and its body was removed after ${pluralize(valuesDays, 'day')}`}
    where id in (
      select id from inbox where state = 'rejected' and body is not null and greatest(received_at, retry_at) < ${before} limit ${batchSize})`.execute(
    db,
  )
  return Number(removed.numAffectedRows ?? 0n)
}

/**
 * Removes old runs that nothing refers to, and old sources and slots. The changes of a run are removed first, in portions; an interrupted
 * run is removed by the next call.
 */
async function removeHistory(db: Db, { before, portions }: { before: Date; portions: number }): Promise<number> {
  await forgetSources(db, before)
  await forgetSlots(db, before)
  const isPast = sql<boolean>`old.finished_at < ${before} and old.state = any(${endStates}) and old.values_removed_at is not null
        and not exists (select 1 from problems where problems.run_id = old.id)
        and not exists (select 1 from known_faults where known_faults.run_id = old.id)
        and not exists (select 1 from acknowledged where acknowledged.run_id = old.id)
        and not exists (select 1 from inbox where inbox.run_id = old.id)
        and (select count(*) from runs newer where newer.connection = old.connection and newer.created_at > old.created_at) >= ${runsThatStay}`
  const { rows: past } = await sql<{
    id: string
  }>`select id from runs old where ${isPast} limit ${runsPerCall}`.execute(db)
  let remaining = portions
  let removed = 0
  for (const { id } of past) {
    for (let after: string | null = ''; after !== null; remaining--) {
      if (remaining <= 0) return removed
      after = await dropChanges(db, { runId: id, after })
    }
    const gone = await sql`delete from runs old where id = ${id} and ${isPast}`.execute(db)
    removed += Number(gone.numAffectedRows ?? 0n)
  }
  if (removed > 0) await removeUnstatedParts(db)
  return removed
}

/**
 * Removes old exports that were decided and archived, if the connection's source no longer lists them: a listed one would be read again.
 * Another export of the connection that was listed since shows that the source was listed at all: the old one is gone from it.
 */
async function forgetSources(db: Db, before: Date): Promise<void> {
  const lastListed = (table: 'old' | 'newer') =>
    sql`greatest(${sql.table(table)}.decided_at, ${sql.table(table)}.listed_at)`
  await sql`
    delete from decided_sources old where archived_at is not null and ${lastListed('old')} < ${before} and exists (
      select 1 from decided_sources newer where newer.connection = old.connection and ${lastListed('newer')} >= ${before})`.execute(
    db,
  )
}

/** Removes old slots. The newest of each purpose stays: without it, a schedule would skip its next slot. */
async function forgetSlots(db: Db, before: Date): Promise<void> {
  await sql`
    delete from slots where taken_at < ${before} and exists (
      select 1 from slots later where later.connection = slots.connection and later.taken_at > slots.taken_at
        and ${purposeOf(sql.ref('later.slot'))} = ${purposeOf(sql.ref('slots.slot'))})`.execute(db)
}

/** Removes one portion of the changes of a run. Returns its last key; null if there was none. */
async function dropChanges(db: Db, { runId, after }: { runId: string; after: string }): Promise<string | null> {
  const { rows } = await sql<{ to: string | null }>`
    with portion as materialized (
      select identity_id from changes where run_id = ${runId} and identity_id > ${after} order by identity_id limit ${batchSize}
    ), dropped as (
      delete from changes
      where run_id = ${runId} and identity_id > ${after} and identity_id <= (select max(identity_id) from portion)
    )
    select max(identity_id) as to from portion`.execute(db)
  return rows[0]?.to ?? null
}
