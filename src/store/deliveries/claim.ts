import { sql } from 'kysely'
import type { ChangeKind, FieldChanges } from '../../identity/change.ts'
import type { Target } from '../connections.ts'
import type { Db } from '../schema.ts'
import { type Lease, mayStillMove, unleased } from '../workers/leases.ts'

const deliveryKinds = ['upsert', 'update', 'delete', 'session'] as const
export type DeliveryKind = (typeof deliveryKinds)[number]

/** A batch that this process works on. `attempt` fences it: what an older, slower attempt writes afterwards is refused. */
export type ClaimedDelivery = {
  readonly runId: string
  readonly batch: number
  readonly kind: DeliveryKind
  readonly connection: string
  readonly attempt: number
  /** Where the connection goes, as far as that is known already. */
  readonly target: Target
  readonly isBlocked: boolean
  /** The platform refuses people of the connection, or did so before; some of them may be in this batch. */
  readonly hasProblems: boolean
  /** Some people of the batch have a leaving date. */
  readonly hasLeavers: boolean
  /** Failed attempts in a row until now. */
  readonly failures: number
  /** An earlier request may have reached the platform, and its outcome is not known. */
  readonly uncertain: boolean
  /** The session that an earlier attempt asked to be completed. */
  readonly session: string | null
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
  /** The record lacks fields whose values are not kept, as the platform has them already. */
  readonly partial: boolean
}

type ClaimBy = { readonly runId: string; readonly batch: number; readonly lease: Lease; readonly now: Date }

/**
 * Claims a due batch. Null if it is done, cancelled, not due yet, or a live process works on it. A batch whose former process has
 * ended, or has stopped moving, is uncertain: a request of it may be under way.
 */
export async function claimDelivery(db: Db, by: ClaimBy): Promise<ClaimedDelivery | null> {
  // Whether a lease is live is looked up only if there is one, which is rare.
  return (await claimFrom('free', db, by)) ?? (await claimFrom('leased', db, by))
}

async function claimFrom(
  from: 'free' | 'leased',
  db: Db,
  { runId, batch, lease, now }: ClaimBy,
): Promise<ClaimedDelivery | null> {
  const former = sql`deliveries.lease`
  const takeover = sql`, takeover as (
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
        deliveries.failures, deliveries.uncertain, deliveries.session, former.lease as previous
    )${from === 'free' ? sql`` : takeover}
    select run_id as "runId", batch, kind, connection, attempts as attempt, failures, uncertain, session,
      json_build_object('key', target_key, 'id', target_id, 'resource', target_resource, 'lacksUpdate', lacks_update) as target,
      blocked_at is not null as "isBlocked",
      exists (select 1 from problems where problems.connection = connections.name) as "hasProblems",
      exists (
        select 1 from changes
        where changes.run_id = claimed.run_id and changes.batch = claimed.batch and separated_at is not null) as "hasLeavers"
    from claimed join connections on connections.name = claimed.connection`.execute(db)
  return rows[0] ?? null
}

/** What is left to do in a batch, in key order. */
export async function pendingChanges(db: Db, { runId, batch }: ClaimedDelivery): Promise<PendingChange[]> {
  // One row with a text for each column: a thousand rows cost more than everything else that the store does for a batch.
  const { rows } = await sql<
    { [K in 'kinds' | 'steps' | 'dates' | 'records' | 'parts']: string } & { ids: string[] | null }
  >`
    select json_agg(identity_id) as ids, string_agg(kind, ',') as kinds, string_agg(coalesce(step, ''), ',') as steps,
      string_agg(coalesce(separated_at, ''), ',') as dates, string_agg(coalesce(record::text, ''), E'\n') as records,
      string_agg(case when partial then 'partial' else '' end, ',') as parts
    from (
      select identity_id, kind, step, separated_at, record, partial from changes
      where run_id = ${runId} and batch = ${batch} and state = 'due' order by identity_id
    ) due`.execute(db)
  const [due] = rows
  if (!due?.ids) return []
  const kinds = due.kinds.split(',') as ChangeKind[]
  const steps = due.steps.split(',') as (Step | '')[]
  const dates = due.dates.split(',')
  // JSON escapes the line ends within it.
  const records = due.records.split('\n')
  const parts = due.parts.split(',')
  return due.ids.map((identityId, i) => ({
    identityId,
    kind: kinds[i] as ChangeKind,
    step: steps[i] || null,
    separatedAt: dates[i] || null,
    json: records[i] || null,
    partial: parts[i] !== '',
  }))
}

/** The fields that the changes of a batch change, by key. */
export async function changedFields(
  db: Db,
  { runId, batch }: ClaimedDelivery,
): Promise<ReadonlyMap<string, FieldChanges>> {
  const rows = await db
    .selectFrom('changes')
    .select(['identity_id', 'fields'])
    .where('run_id', '=', runId)
    .where('batch', '=', batch)
    .where('state', '=', 'due')
    .execute()
  return new Map(rows.map(({ identity_id, fields }) => [identity_id, fields ?? {}]))
}

/** Notes the session before the request that completes it. False: another attempt has taken the batch over. */
export async function storeSession(db: Db, claim: ClaimedDelivery, session: string): Promise<boolean> {
  const stored = await db
    .updateTable('deliveries')
    .set({ session })
    .where((eb) => eb.and(heldBy(claim)))
    .executeTakeFirst()
  return stored.numUpdatedRows > 0n
}

/** Stores the step before its request goes out. False: another attempt has taken the batch over, and nothing may be sent. */
export async function storeStep(
  db: Db,
  claim: ClaimedDelivery,
  { identityIds, step }: { identityIds: readonly string[]; step: Step },
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    if (!(await lockDelivery(tx, claim))) return false
    await tx
      .updateTable('changes')
      .set({ step })
      .where('run_id', '=', claim.runId)
      .where(sql<boolean>`identity_id = any(${identityIds})`)
      .execute()
    return true
  })
}

/** True while this attempt may send. Asked right before each request, so that a process that was stopped for long sends no old facts. */
export async function stillHolds(db: Db, claim: ClaimedDelivery): Promise<boolean> {
  return (await heldDelivery(db, claim).executeTakeFirst()) !== undefined
}

/** The delivery's row if it is still this attempt's, locked until the transaction ends. */
export async function lockDelivery(tx: Db, claim: ClaimedDelivery) {
  return await heldDelivery(tx, claim).forUpdate().executeTakeFirst()
}

function heldDelivery(tx: Db, claim: ClaimedDelivery) {
  return tx
    .selectFrom('deliveries')
    .select(['people', 'confirmed', 'refused', 'failures', 'failing_since'])
    .where((eb) => eb.and(heldBy(claim)))
}

/** What the delivery's row says for as long as it is this attempt's. */
export function heldBy({ runId, batch, attempt }: ClaimedDelivery) {
  return { run_id: runId, batch, attempts: attempt, state: 'due' }
}
