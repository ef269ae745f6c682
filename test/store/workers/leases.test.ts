import { on } from 'node:events'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import { postgresPlace } from '../../helpers/servers/databases.ts'
import { openLink } from '../../queue/link.ts'

async function open() {
  await using opening = new AsyncDisposableStack()
  const { at } = opening.use(await postgresPlace())
  const link = opening.use(await openLink(at))
  const store = await openDatabase<StoreSchema>({ at: link.url, schemas: ['rollcall'], migrations })
  const lease = await takeLease(store)
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

test('a lease is given back cleanly while the database is away', async () => {
  await using opened = await open()
  const { store, lease } = opened
  await cut(opened)

  await lease[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()

  expect(store.pool.ended).toBe(true)
})

test('a lease is given back cleanly while its session is being taken again', async () => {
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
