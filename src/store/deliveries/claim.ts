import { type RawBuilder, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import type { Target } from '../connections/connections.ts'
import { hasCome } from '../has-come.ts'
import { maxRecentAttempts } from '../recent-attempts.ts'
import type { Db } from '../schema.ts'
import { type Lease, mayStillMove, withoutLease } from '../workers/leases.ts'
import { type Pending, type PendingRow, pendingOf, pendingRows, type Step } from './pending.ts'

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
  /** Failed attempts in a row until now. */
  readonly failures: number
  /** Since when nothing of it gets through; null: it does not fail. */
  readonly failingSince: Date | null
  /** An earlier request may have reached the platform, and its outcome is not known. */
  readonly uncertain: boolean
  /** The session that an earlier attempt asked to be completed. */
  readonly session: string | null
  /** What is left to do, as far as it was read with the claim; null: it was not. */
  readonly pending: Pending | null
}

type Claimed = Omit<ClaimedDelivery, 'pending'>
/** What stands beside a claim in place of the people who are left. */
type NothingLeft = { readonly [K in keyof PendingRow]: null }

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
  const isFree = from === 'free'
  const held = sql`deliveries.lease`
  // The row as it was before, which is the only one that still names whose batch it was.
  const former = sql`former.run_id = deliveries.run_id and former.batch = deliveries.batch`
  const takeover = sql`, takeover as (
      insert into takeovers (run_id, batch, lease)
      select run_id, batch, previous from claimed where ${mayStillMove(sql`previous`)}
      on conflict do nothing
    )`
  // Of a free batch, what is left is read by the same statement. Whoever had the batch wrote its last outcome before it let go of it. A
  // process that never let go may be writing one just now, which this statement would not see.
  const read = pendingRows({ runId: sql`claimed.run_id`, batch: sql`claimed.batch`, where: sql`blocked_at is null` })
  const { rows } = await sql<Claimed & (PendingRow | NothingLeft)>`${sql.raw(prepared)}
    with claimed as (
      update deliveries set lease = ${lease.id}, attempts = deliveries.attempts + 1,
        recent_attempts = (array_prepend(${now}::timestamptz, deliveries.recent_attempts))[1:${sql.lit(maxRecentAttempts)}]
        ${isFree ? sql`` : sql`, uncertain = true`}
      from runs ${isFree ? sql`` : sql`, deliveries former`}
      where deliveries.run_id = ${runId} and deliveries.batch = ${batch} and deliveries.state = 'due' and ${isDueAt(now)}
        and runs.id = deliveries.run_id and runs.state = 'delivering'
        and ${isFree ? sql`${held} is null` : sql`${held} is not null and ${withoutLease(held)} and ${former}`}
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
  const left = rows.filter((one) => one.ids !== null)
  return { ...claim, pending: isFree && !claim.isBlocked ? pendingOf(left) : null }
}

/** The longest pause of a batch is an hour: the last of its retries, and the longest that a platform may ask for. */
const maxPauseMinutes = 61

/** True in SQL if a batch that is still to be delivered need not wait any longer. */
export function isDueAt(now: Date): RawBuilder<boolean> {
  return hasCome(sql`deliveries.due_at`, { now, maxMinutesAhead: maxPauseMinutes })
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
    .modifyFront(sql.raw(prepared))
    .select(['people', 'confirmed', 'refused', 'failures', 'failing_since'])
    .where((eb) => eb.and(heldBy(claim)))
}

/** What the delivery's row says for as long as it is this attempt's. */
export function heldBy({ runId, batch, attempt }: ClaimedDelivery) {
  return { run_id: runId, batch, attempts: attempt, state: 'due' }
}
