import { randomInt } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../database/database.ts'
import type { StoreSchema } from '../schema.ts'

/** The first key of the advisory locks that say "this owner lives"; the second is the owner's id. The number spells ROLL. */
const lockClass = 0x524f4c4c

const beatMs = 10_000
/** A process that has not moved for so long may be stopped for good: others take its work. */
const stillSeconds = 60
const forgottenSeconds = 24 * 60 * 60

/**
 * The mark that a process leaves on what it works on. It is good for as long as the database session that took it lives, and
 * the process shows that it moves: one that was killed is known to be dead at once, and one that is stopped does not keep its work.
 */
export type Owner = {
  readonly id: number
  /** What the process works on now. What bears its mark and is not among it was left when the store did not take its end. */
  readonly atWork: Set<Work>
  [Symbol.asyncDispose](): Promise<void>
}

/** What bears an owner's mark: a run that is read and planned, a batch that is delivered, a connection whose target is looked up. */
export type Work =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'batch'; readonly runId: string; readonly batch: number }
  | { readonly kind: 'target'; readonly connection: string }

/** Works on something as this owner, from before it is marked until after its mark is gone or could not be taken off. */
export async function workingOn<T>(owner: Owner, work: Work, task: () => Promise<T>): Promise<T> {
  owner.atWork.add(work)
  try {
    return await task()
  } finally {
    owner.atWork.delete(work)
  }
}

export function isAtWork({ atWork }: Owner, work: Work): boolean {
  return atWork.values().some((one) => isDeepStrictEqual(one, work))
}

/** Takes a mark of its own and keeps it, also over a lost database connection. */
export async function takeOwner(store: Database<StoreSchema>): Promise<Owner> {
  const id = randomInt(1, 2 ** 31 - 1)
  let ended = false
  await sql`delete from owners where seen_at < now() - make_interval(secs => ${forgottenSeconds})`.execute(store.db)
  await beat()
  let session = await hold()
  // What the database does not answer to now is beaten again; until then another process may take the work over.
  const beating = setInterval(() => beat().catch(() => undefined), beatMs)

  async function beat(): Promise<void> {
    await sql`insert into owners values (${id}, now()) on conflict (id) do update set seen_at = now()`.execute(store.db)
  }

  async function hold() {
    const client = await store.pool.connect()
    try {
      await client.query('select pg_advisory_lock($1, $2)', [lockClass, id])
    } catch (error) {
      client.release(true)
      throw error
    }
    // A session that breaks may say so more than once.
    let isBroken = false
    client.on('error', () => {
      if (ended || isBroken) return
      isBroken = true
      client.release(true)
      retake()
    })
    return client
  }

  // While the mark is lost another process may take the work over; what this one then writes is fenced off by attempt numbers.
  function retake(): void {
    hold().then(
      (client) => {
        session = client
      },
      () => {
        if (!ended) setTimeout(retake, 1000).unref()
      },
    )
  }

  return {
    id,
    atWork: new Set(),
    async [Symbol.asyncDispose]() {
      ended = true
      clearInterval(beating)
      await session.query('select pg_advisory_unlock($1, $2)', [lockClass, id]).catch(() => undefined)
      session.release()
      await store.db
        .deleteFrom('owners')
        .where('id', '=', id)
        .execute()
        .catch(() => undefined)
    },
  }
}

/** True in SQL where nobody who moves works on the row: `owner` is null, or belongs to a process that has ended or stands still. */
export function unowned(column: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${column} is null or not ${mayStillMove(column)} or not exists (
    select 1 from owners where owners.id = ${column} and owners.seen_at > now() - make_interval(secs => ${sql.lit(stillSeconds)})))`
}

/** True in SQL where the owner's process has not ended: it works, or stands still and may move again. */
export function mayStillMove(column: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from pg_locks held
    where held.locktype = 'advisory' and held.classid = ${sql.lit(lockClass)} and held.objid = ${column} and held.granted
      and held.database = (select oid from pg_database where datname = current_database()))`
}
