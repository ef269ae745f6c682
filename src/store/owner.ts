import { randomInt } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { StoreSchema } from './schema.ts'

/** The first key of the advisory locks that say "this owner lives"; the second is the owner's id. The number spells ROLL. */
const lockClass = 0x524f4c4c

/**
 * The mark that a process leaves on what it works on. It is alive for as long as the database session that took it:
 * a killed process is known to be dead at once, without waiting for a lease to run out.
 */
export type Owner = { readonly id: number; [Symbol.asyncDispose](): Promise<void> }

/** Takes a mark of its own and keeps it, also over a lost database connection. */
export async function takeOwner(store: Database<StoreSchema>): Promise<Owner> {
  const id = randomInt(1, 2 ** 31 - 1)
  let ended = false
  let session = await hold()

  async function hold() {
    const client = await store.pool.connect()
    client.on('error', () => {
      if (ended) return
      client.release(true)
      retake()
    })
    await client.query('select pg_advisory_lock($1, $2)', [lockClass, id])
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
    async [Symbol.asyncDispose]() {
      ended = true
      await session.query('select pg_advisory_unlock($1, $2)', [lockClass, id]).catch(() => undefined)
      session.release()
    },
  }
}

/** True in SQL where nobody who lives works on the row: `owner` is null or belongs to a process that has ended. */
export function unowned(column: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${column} is null or not exists (
    select 1 from pg_locks held
    where held.locktype = 'advisory' and held.classid = ${sql.lit(lockClass)} and held.objid = ${column} and held.granted
      and held.database = (select oid from pg_database where datname = current_database())))`
}
