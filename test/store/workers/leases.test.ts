import { on } from 'node:events'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { openLink } from '../../queue/link.ts'

async function open(...times: [{ renewMs: number; answerMs: number }?]) {
  await using opening = new AsyncDisposableStack()
  const { at } = opening.use(await createPostgresDatabase())
  const link = opening.use(await openLink(at))
  const store = await openDatabase<StoreSchema>({ at: link.url, schemas: ['rollcall'], migrations })
  const lease = await takeLease(store, null, ...times)
  const opened = opening.move()
  return { at, link, store, lease, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Cuts the way to the database, and waits until every session knows. */
async function cut({ link, store: { pool } }: Awaited<ReturnType<typeof open>>): Promise<void> {
  const sessions = pool.totalCount
  const removals = on(pool, 'remove')
  await link.cut()
  for (let removed = 0; removed < sessions; removed++) await removals.next()
}

test('a lease is released cleanly while the database is unreachable', async () => {
  await using opened = await open()
  const { store, lease } = opened
  await cut(opened)

  await lease[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()

  expect(store.pool.ended).toBe(true)
})

test('a lease is released cleanly while its session is being reopened', async () => {
  await using opened = await open()
  const { link, store, lease } = opened
  await cut(opened)
  await link.mend()

  await lease[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()

  expect(store.pool.ended).toBe(true)
})

test('a lease whose session broke is live again once the database is back', async () => {
  await using opened = await open()
  const { at, link, store, lease } = opened
  await cut(opened)
  await link.mend()
  await using other = await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations })

  await expect
    .poll(
      async () => {
        const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and objid = ${lease.id}
          and database = (select oid from pg_database where datname = current_database())`.execute(other.db)
        return rows.length
      },
      { timeout: 30_000 },
    )
    .toBe(1)
  await lease[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
})

test('a lease whose session is gone while its socket is open takes its lock again', async () => {
  await using opened = await open({ renewMs: 50, answerMs: 300 })
  const { at, link, store, lease } = opened
  await using other = await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations })
  const holders = async (): Promise<number[]> => {
    const { rows } = await sql<{
      pid: number
    }>`select pid from pg_locks where locktype = 'advisory' and objid = ${lease.id}
      and database = (select oid from pg_database where datname = current_database())`.execute(other.db)
    return rows.map(({ pid }) => pid)
  }
  const before = await holders()

  link.freeze()
  await sql`select pg_terminate_backend(${before[0]}, 5000)`.execute(other.db)

  await expect.poll(holders, { timeout: 30_000 }).toEqual([expect.any(Number)])
  expect(await holders()).not.toEqual(before)
  await lease[Symbol.asyncDispose]()
  await link.cut()
  await store[Symbol.asyncDispose]()
})
