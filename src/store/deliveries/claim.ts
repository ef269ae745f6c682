import { type RawBuilder, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import type { Target } from '../connections/connections.ts'
import { hasCome } from '../has-come.ts'
import { maxRecentAttempts } from '../recent-attempts.ts'
import type { Db } from '../schema.ts'
import { isProcessAlive, type Lease, withoutLease } from '../workers/leases.ts'
import { type PendingBatch, type PendingRow, pendingOf, pendingRows, type Step } from './pending.ts'

const deliveryKinds = ['upsert', 'update', 'delete', 'session'] as const
/** The kinds of requests by which batches are delivered. */
export type DeliveryKind = (typeof deliveryKinds)[number]

/** A batch that this process works on. `attempt` fences it: writes of an older attempt are refused. */
export type ClaimedDelivery = {
  readonly runId: string
  readonly batch: number
  readonly kind: DeliveryKind
  readonly connection: string
  readonly attempt: number
  /** The target of the connection, if it is known. */
  readonly target: Target
  readonly isBlocked: boolean
  /** The connection has problems; some of them may be in this batch. */
  readonly hasProblems: boolean
  /** Number of consecutive failed attempts. */
  readonly failures: number
  /** Since when the batch fails; null: it does not. */
  readonly failingSince: Date | null
  /** An earlier request may have reached the platform, and its outcome is unknown. */
  readonly uncertain: boolean
  /** The session whose completion an earlier attempt requested. */
  readonly session: string | null
  /** The remaining changes if they were read with the claim; otherwise null. */
  readonly pending: PendingBatch | null
}

type ClaimWithoutPending = Omit<ClaimedDelivery, 'pending'>
/** The columns of a claim without remaining changes. */
type NoPending = { readonly [K in keyof PendingRow]: null }

type ClaimBy = { readonly runId: string; readonly batch: number; readonly lease: Lease; readonly now: Date }

/**
 * Claims a due batch. Null if it is done, cancelled, not due yet, or claimed by a live process. If its previous process has ended or is
 * suspended, the batch is uncertain: a request may be under way.
 */
export async function claimDelivery(db: Db, by: ClaimBy): Promise<ClaimedDelivery | null> {
  // Whether a lease is live is checked only if the batch has one, which is rare.
  return (await claimFrom('free', db, by)) ?? (await claimFrom('leased', db, by))
}

async function claimFrom(
  from: 'free' | 'leased',
  db: Db,
  { runId, batch, lease, now }: ClaimBy,
): Promise<ClaimedDelivery | null> {
  const isFree = from === 'free'
  const currentLease = sql`deliveries.lease`
  // The row before the update: only it has the previous lease.
  const former = sql`former.run_id = deliveries.run_id and former.batch = deliveries.batch`
  const takeover = sql`, takeover as (
      insert into takeovers (run_id, batch, lease)
      select run_id, batch, previous from claimed where ${isProcessAlive(sql`previous`)}
      on conflict do nothing
    )`
  // For a free batch, the same statement reads the remaining changes: its previous process wrote the last outcome before it released the
  // batch. A process that never released the batch may be writing an outcome right now, which this statement would not see.
  const read = pendingRows({ runId: sql`claimed.run_id`, batch: sql`claimed.batch`, where: sql`blocked_at is null` })
  const { rows } = await sql<ClaimWithoutPending & (PendingRow | NoPending)>`${sql.raw(prepared)}
    with claimed as (
      update deliveries set lease = ${lease.id}, attempts = deliveries.attempts + 1,
        recent_attempts = (array_prepend(${now}::timestamptz, deliveries.recent_attempts))[1:${sql.lit(maxRecentAttempts)}]
        ${isFree ? sql`` : sql`, uncertain = true`}
      from runs ${isFree ? sql`` : sql`, deliveries former`}
      where deliveries.run_id = ${runId} and deliveries.batch = ${batch} and deliveries.state = 'due' and ${isDueAt(now)}
        and runs.id = deliveries.run_id and runs.state = 'delivering'
        and ${isFree ? sql`${currentLease} is null` : sql`${currentLease} is not null and ${withoutLease(currentLease)} and ${former}`}
      returning deliveries.run_id, deliveries.batch, deliveries.kind, runs.connection, deliveries.attempts,
        deliveries.failures, deliveries.failing_since, deliveries.uncertain, deliveries.session ${isFree ? sql`` : sql`, former.lease as previous`}
    )${isFree ? sql`` : takeover}
    select run_id as "runId", batch, kind, connection, attempts as attempt, failures, failing_since as "failingSince",
      uncertain, session,
      json_build_object('key', target_key, 'id', target_id, 'resource', target_resource, 'lacksUpdate', lacks_update) as target,
      blocked_at is not null as "isBlocked",
      exists (select 1 from problems where problems.connection = connections.name) as "hasProblems"
      ${isFree ? sql`, ids, kinds, records, apart` : sql``}
    from claimed join connections on connections.name = claimed.connection
      ${isFree ? sql`left join lateral (${read}) due on true` : sql``}`.execute(db)
  const [row] = rows
  if (!row) return null
  const { ids, kinds, records, apart, ...claim } = row
  const dueRows = rows.filter((one) => one.ids !== null)
  return { ...claim, pending: isFree && !claim.isBlocked ? pendingOf(dueRows) : null }
}

/** The longest delay of a batch is an hour: the last retry delay, and the maximum `Retry-After`. */
const maxPauseMinutes = 61

/** In SQL, whether the time of a batch has come. */
export function isDueAt(now: Date): RawBuilder<boolean> {
  return hasCome(sql`deliveries.due_at`, { now, maxMinutesAhead: maxPauseMinutes })
}

/** Stores the session before the request that completes it. False: another attempt has taken the batch over. */
export async function storeSession(db: Db, claim: ClaimedDelivery, session: string): Promise<boolean> {
  const stored = await db
    .updateTable('deliveries')
    .set({ session })
    .where((eb) => eb.and(heldBy(claim)))
    .executeTakeFirst()
  return stored.numUpdatedRows > 0n
}

/** Stores the step before its request. False: another attempt has taken the batch over, and nothing may be sent. */
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

/** Whether this attempt may send. Checked right before each request, so that a process that was suspended sends no old facts. */
export async function stillHolds(db: Db, claim: ClaimedDelivery): Promise<boolean> {
  return (await heldDelivery(db, claim).executeTakeFirst()) !== undefined
}

/** Locks the row of the delivery until the transaction ends; undefined if another attempt has it. */
export async function lockDelivery(tx: Db, claim: ClaimedDelivery) {
  return await heldDelivery(tx, claim).forUpdate().executeTakeFirst()
}

function heldDelivery(tx: Db, claim: ClaimedDelivery) {
  return tx
    .selectFrom('deliveries')
    .modifyFront(sql.raw(prepared))
    .select(['people', 'confirmed', 'refused', 'failures', 'failing_since'])
    .where((eb) => eb.and(heldBy(claim)))
}

/** The values that the row of a delivery has while this attempt owns it. */
export function heldBy({ runId, batch, attempt }: ClaimedDelivery) {
  return { run_id: runId, batch, attempts: attempt, state: 'due' }
}
