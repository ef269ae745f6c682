import { randomInt } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../database/database.ts'
import type { Pool, PoolClient } from '../../database/pool.ts'
import { Failure } from '../../errors.ts'
import type { ProcessInfo } from '../schema/process-info.ts'
import type { Db, StoreSchema } from '../schema.ts'

/** The first key of the advisory locks that say "this lease is live"; the second is the lease's id. The number spells ROLL. */
const lockClass = 0x524f4c4c

const renewMs = 10_000
const retakeMs = 1000
/** How long the session of the lock may take to answer, before its server counts as gone. */
const answerMs = 8000
/** How long a process may miss its renewals before others take its work. */
const stoppedSeconds = 60
const forgottenSeconds = 24 * 60 * 60

/**
 * The claim of a process to its work, stored on each row. It is live while its database session lives and the process renews it: the work
 * of a killed process is free at once, and a suspended one loses its work.
 */
export type Lease = {
  readonly id: number
  /** What the process works on now. A row with this lease that is not in it is abandoned: its release failed. */
  readonly atWork: Set<Work>
  /** Renews the lease in the store. Throws the error of the database. */
  renew(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The lease of a read-only process, which works on nothing. */
export const noLease: Lease = {
  get id(): never {
    throw new Error('a process that only looks works on nothing')
  },
  atWork: new Set(),
  renew: async () => {},
  async [Symbol.asyncDispose]() {},
}

/** What a lease is stored on: a run that is planned, a batch that is delivered, a connection whose target is looked up. */
type Work =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'batch'; readonly runId: string; readonly batch: number }
  | { readonly kind: 'target'; readonly connection: string }

/** Runs a task on something with this lease, from before the row is claimed until after it is released. */
export async function workingOn<T>(lease: Lease, work: Work, task: () => Promise<T>): Promise<T> {
  lease.atWork.add(work)
  try {
    return await task()
  } finally {
    lease.atWork.delete(work)
  }
}

/** Whether this process is working on something. */
export function isAtWork({ atWork }: Lease, work: Work): boolean {
  return atWork.values().some((one) => isDeepStrictEqual(one, work))
}

/** The renewal interval, and how long the session of the lock may take to answer. */
type Times = { readonly renewMs: number; readonly answerMs: number }

/**
 * Takes a lease for this process and keeps it, also if the database connection is lost. `processInfo`: what a daemon publishes.
 */
export async function takeLease(
  { db, pool }: Database<StoreSchema>,
  processInfo: ProcessInfo | null = null,
  times: Times = { renewMs, answerMs },
): Promise<Lease> {
  const id = randomInt(1, 2 ** 31 - 1)
  await sql`delete from leases where seen_at < now() - make_interval(secs => ${forgottenSeconds})`.execute(db)
  await renew()
  const lock = await keepLock(pool, { id, answerMs: times.answerMs })
  // A failed renewal is repeated at the next interval; until then another process may take the work over.
  const renewing = setInterval(() => {
    renew().catch(() => undefined)
    lock.check().catch(() => undefined)
  }, times.renewMs)

  async function renew(): Promise<void> {
    await sql`
      insert into leases (id, seen_at, process) values (${id}, now(), ${processInfo && JSON.stringify(processInfo)}::jsonb)
      on conflict (id) do update set seen_at = now() returning id`.execute(db)
  }

  return {
    id,
    atWork: new Set(),
    renew,
    async [Symbol.asyncDispose]() {
      clearInterval(renewing)
      await lock[Symbol.asyncDispose]()
      await db
        .deleteFrom('leases')
        .where('id', '=', id)
        .execute()
        .catch(() => undefined)
    },
  }
}

type Lock = AsyncDisposable & {
  /** Checks whether the session still holds the lock. If not, or without an answer, another session takes it. Never throws. */
  check(): Promise<void>
}

/**
 * Holds the advisory lock of a lease in a session of its own, and takes it again in another one if that breaks. Meanwhile another process
 * may take the work over; the attempt number of each row then rejects the writes of this one. Disposing never throws.
 */
async function keepLock(pool: Pool, { id, answerMs: withinMs }: { id: number; answerMs: number }): Promise<Lock> {
  let isOver = false
  let retaking: NodeJS.Timeout | undefined
  let checking: Promise<void> | null = null
  /** Null while there is none: each session is released once. */
  let session: PoolClient | null = await take()

  async function take(): Promise<PoolClient> {
    const client = await pool.connect()
    try {
      // It does not wait: a broken session whose end the server has not noticed yet still holds the lock.
      const taken = client.query('select pg_try_advisory_lock($1, $2) as taken', [lockClass, id])
      const { rows } = await answeredWithin(withinMs, taken)
      if (!rows[0]?.taken) throw new Error('an earlier session of this lease still has its lock')
    } catch (error) {
      client.release(true)
      throw error
    }
    client.on('error', () => drop(client))
    return client
  }

  function drop(client: PoolClient): void {
    if (client !== session) return
    session = null
    client.release(true)
    if (!isOver) retake()
  }

  function retake(): void {
    take().then(
      (client) => {
        if (isOver) client.release(true)
        else session = client
      },
      () => {
        if (!isOver) retaking = setTimeout(retake, retakeMs).unref()
      },
    )
  }

  async function checkSession(): Promise<void> {
    const checked = session
    if (checked === null) return
    try {
      const { rows } = await answeredWithin(withinMs, checked.query(holdsLock, [lockClass, id]))
      if (rows[0]?.holds) return
    } catch {
      // The same as if the lock were gone.
    }
    drop(checked)
  }

  return {
    check() {
      checking ??= checkSession().finally(() => {
        checking = null
      })
      return checking
    },
    async [Symbol.asyncDispose]() {
      isOver = true
      await checking
      clearTimeout(retaking)
      const last = session
      session = null
      if (last === null) return
      const unlocked = last.query('select pg_advisory_unlock($1, $2)', [lockClass, id])
      const isUnlocked = await answeredWithin(withinMs, unlocked).then(
        () => true,
        () => false,
      )
      last.release(!isUnlocked)
    },
  }
}

const holdsLock = `select exists (
  select 1 from pg_locks where locktype = 'advisory' and classid = $1 and objid = $2 and granted and pid = pg_backend_pid()) as holds`

async function answeredWithin<T>(ms: number, answer: Promise<T>): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  try {
    return await Promise.race([answer, silence])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Releases abandoned work of this lease: the process no longer works on it, but the store did not answer when it tried to release it. No
 * other process takes it, because the lease is live. The outcome of the last request of such a batch is unknown. Returns the released
 * runs. They need new jobs, because the queue may still hold the old ones for this process.
 */
export async function releaseAbandoned(db: Db, lease: Lease): Promise<ReadonlySet<string>> {
  const batches = await db
    .selectFrom('deliveries')
    .select(['run_id', 'batch'])
    .where('state', '=', 'due')
    .where('lease', '=', lease.id)
    .execute()
  for (const { run_id, batch } of batches) {
    if (isAtWork(lease, { kind: 'batch', runId: run_id, batch })) continue
    await db
      .updateTable('deliveries')
      .set({ lease: null, uncertain: true })
      .where('run_id', '=', run_id)
      .where('batch', '=', batch)
      .where('lease', '=', lease.id)
      .where('state', '=', 'due')
      .execute()
  }
  const runs = await db
    .selectFrom('runs')
    .select('id')
    .where('state', 'in', ['reading', 'planned'])
    .where('lease', '=', lease.id)
    .execute()
  const released = new Set<string>()
  for (const { id } of runs) {
    if (isAtWork(lease, { kind: 'run', runId: id })) continue
    await db.updateTable('runs').set({ lease: null }).where('id', '=', id).where('lease', '=', lease.id).execute()
    released.add(id)
  }
  const targets = await db.selectFrom('connections').select('name').where('target_lease', '=', lease.id).execute()
  for (const { name } of targets) {
    if (isAtWork(lease, { kind: 'target', connection: name })) continue
    await db
      .updateTable('connections')
      .set({ target_lease: null })
      .where('name', '=', name)
      .where('target_lease', '=', lease.id)
      .execute()
  }
  return released
}

/**
 * In SQL, whether no running process works on the row: its lease is null, or of a process that has ended or is suspended. A renewal in
 * the future is as old as one in the past: the clock was set back.
 */
export function withoutLease(column: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${column} is null or not ${isProcessAlive(column)} or not exists (
    select 1 from leases where leases.id = ${column}
      and abs(extract(epoch from now() - leases.seen_at)) < ${sql.lit(stoppedSeconds)}))`
}

/** Fails with `already_active` while another process works on the store. For callers without a lease of their own. */
export async function refuseOthersAtWork(db: Db): Promise<void> {
  const others = await othersAtWork(db)
  if (others === 0) return
  const who = others === 1 ? 'a process works' : `${others} processes work`
  throw new Failure('already_active', `${who} on the store; stop them first`)
}

/** Counts the processes with a lease, which the caller must not have. */
async function othersAtWork(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(distinct objid)::int as count from pg_locks
    where locktype = 'advisory' and classid = ${sql.lit(lockClass)} and granted
      and database = (select oid from pg_database where datname = current_database())`.execute(db)
  return rows[0]?.count ?? 0
}

/** In SQL, whether the process of a lease has not ended: it runs, or is suspended and may continue. */
export function isProcessAlive(column: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from pg_locks held
    where held.locktype = 'advisory' and held.classid = ${sql.lit(lockClass)} and held.objid = ${column} and held.granted
      and held.database = (select oid from pg_database where datname = current_database()))`
}
