import { type Kysely, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { PlatformSchema, SyncTrigger } from '../core/schema.ts'

/** The account to sync, and who started it. */
export type AttemptStart = {
  readonly accountId: number
  readonly trigger: SyncTrigger
  /** The operator who asked for it on the Personnel page. */
  readonly startedBy?: string
  readonly now: () => Date
}

/** The state of an attempt. `interrupted`: its process died, and its transaction was rolled back. */
export type AttemptState = 'running' | 'finished' | 'failed' | 'interrupted'

/** A sync of an account, running or ended. */
export type Attempt = {
  readonly id: number
  readonly trigger: SyncTrigger
  readonly startedBy: string | null
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly state: AttemptState
  /** The result of a finished sync. */
  readonly result: Pick<
    Selectable<PlatformSchema['identity_syncs']>,
    'duration_ms' | 'identities' | 'created' | 'changed' | 'counts'
  > | null
}

/** Maximum time between recording an attempt and locking it. */
const maxStartMs = 30_000

/** Records that a sync begins, outside of the sync's transaction, so that other sessions see it. Returns the attempt's id. */
export async function beginAttempt(
  db: Kysely<PlatformSchema>,
  { accountId, trigger, startedBy, now }: AttemptStart,
): Promise<number> {
  const { id } = await db
    .insertInto('identity_sync_attempts')
    .values({ account_id: accountId, trigger, started_by: startedBy ?? null, started_at: now() })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Locks the attempt until the transaction ends. The lock shows other processes that the sync is alive. */
export async function lockAttempt(trx: Kysely<PlatformSchema>, id: number): Promise<void> {
  await trx.selectFrom('identity_sync_attempts').select('id').where('id', '=', id).forUpdate().execute()
}

/** Ends an attempt with its result, or as failed without one. An ended attempt does not change. */
export async function endAttempt(
  db: Kysely<PlatformSchema>,
  id: number,
  at: Date,
  syncId: number | null = null,
): Promise<void> {
  await db
    .updateTable('identity_sync_attempts')
    .set({ ended_at: at, sync_id: syncId })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute()
}

/** Deletes an attempt that did not begin. */
export async function deleteAttempt(db: Kysely<PlatformSchema>, id: number): Promise<void> {
  await db.deleteFrom('identity_sync_attempts').where('id', '=', id).execute()
}

/** A scheduled time, and the present. */
export type SlotQuery = { readonly slot: Date; readonly now: Date }

/**
 * The condition that the last finished scheduled sync began between the scheduled time and now. A later start comes from a wrong clock
 * and is ignored.
 */
export function isSyncedFor(accountId: RawBuilder<unknown>, { slot, now }: SlotQuery): RawBuilder<SqlBool> {
  return sql<SqlBool>`coalesce((
    select attempt.started_at between ${slot}::timestamptz and ${now}::timestamptz
    from identity_sync_attempts as attempt
    where attempt.account_id = ${accountId} and attempt.trigger = 'schedule' and attempt.sync_id is not null
    order by attempt.id desc
    limit 1
  ), false)`
}

/** The last `count` attempts of an account, the latest first. */
export async function recentAttempts(
  db: Kysely<PlatformSchema>,
  accountId: number,
  count: number,
  now: Date,
): Promise<Attempt[]> {
  const rows = await db
    .selectFrom('identity_sync_attempts as attempt')
    .leftJoin('identity_syncs as sync', 'sync.id', 'attempt.sync_id')
    .select(['attempt.id', 'attempt.trigger', 'attempt.started_by', 'attempt.started_at', 'attempt.ended_at'])
    .select(['sync.duration_ms', 'sync.identities', 'sync.created', 'sync.changed', 'sync.counts'])
    .where('attempt.account_id', '=', accountId)
    .orderBy('attempt.id', 'desc')
    .limit(count)
    .execute()
  const open = rows.filter(({ ended_at }) => ended_at === null).map(({ id }) => id)
  const locked = await lockedAttempts(db, open)
  return rows.map(({ id, trigger, started_by, started_at, ended_at, ...sync }) => ({
    id,
    trigger,
    startedBy: started_by,
    startedAt: started_at,
    endedAt: ended_at,
    state: stateOf({ started_at, ended_at, isDone: sync.counts !== null, isHeld: locked.has(id) }, now),
    result: resultOf(sync),
  }))
}

type SyncColumns = {
  readonly [K in keyof NonNullable<Attempt['result']>]: NonNullable<Attempt['result']>[K] | null
}

function resultOf({ duration_ms, identities, created, changed, counts }: SyncColumns): Attempt['result'] {
  if (duration_ms === null || identities === null || created === null || changed === null || counts === null)
    return null
  return { duration_ms, identities, created, changed, counts }
}

// Tries a lock that conflicts with that of a running sync; the statement releases it at once.
async function lockedAttempts(db: Kysely<PlatformSchema>, ids: readonly number[]): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set()
  const { rows } = await sql<{ id: number }>`
    select id from identity_sync_attempts where id = any(${ids}::bigint[]) for key share skip locked
  `.execute(db)
  const free = new Set(rows.map(({ id }) => id))
  return new Set(ids.filter((id) => !free.has(id)))
}

type AttemptFacts = {
  readonly started_at: Date
  readonly ended_at: Date | null
  readonly isDone: boolean
  readonly isHeld: boolean
}

function stateOf({ started_at, ended_at, isDone, isHeld }: AttemptFacts, now: Date): AttemptState {
  if (ended_at !== null) return isDone ? 'finished' : 'failed'
  const ageMs = now.getTime() - started_at.getTime()
  return isHeld || (ageMs >= 0 && ageMs < maxStartMs) ? 'running' : 'interrupted'
}
