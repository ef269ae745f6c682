import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/database/database.ts'
import type { PoolClient } from '../../src/database/pool.ts'
import { prepared } from '../../src/database/prepared.ts'
import { emptyDatabases, emptyTables } from '../helpers/servers/databases.ts'

type Tables = { note: { id: number; text: string | null } }

const migrations = [{ name: '0001-note', sql: 'CREATE TABLE note (id int PRIMARY KEY, text text)' }]

describe.each(emptyDatabases)('a pool over $name', ({ createDatabase }) => {
  let lifetime: AsyncDisposableStack
  let database: Database<Tables>

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    database = lifetime.use(await openDatabase<Tables>({ at, schemas: ['rollcall', 'bullmq'], migrations }))
  })

  afterAll(() => lifetime.disposeAsync())

  async function ids(): Promise<number[]> {
    const rows = await database.db.selectFrom('note').select('id').orderBy('id').execute()
    return rows.map(({ id }) => id)
  }

  async function lend(): Promise<AsyncDisposable & { readonly client: PoolClient }> {
    await emptyTables(database, 'rollcall')
    const client = await database.pool.connect()
    return { client, [Symbol.asyncDispose]: async () => client.release() }
  }

  test('every session finds our schemas, writes times in UTC and compiles no statement', async () => {
    const { rows } = await database.pool.query(
      `SELECT current_setting('search_path') AS path, current_setting('timezone') AS zone, current_setting('jit') AS jit`,
    )

    expect(rows).toEqual([{ path: 'rollcall,bullmq', zone: 'UTC', jit: 'off' }])
  })

  test('a statement that asks for it is planned once for a connection of a server, and answers the same on both engines', async () => {
    await using lent = await lend()
    const answers = await Promise.all(
      [1, 2, 3].map(async (id) => (await lent.client.query(`${prepared}SELECT $1::int AS id`, [id])).rows[0].id),
    )
    const { rows } = await lent.client.query('SELECT statement FROM pg_prepared_statements')

    expect(answers).toEqual([1, 2, 3])
    expect(rows).toEqual(database.kind === 'postgres' ? [{ statement: `${prepared}SELECT $1::int AS id` }] : [])
  })

  test('a result has the command and the number of affected rows', async () => {
    await using lent = await lend()

    const inserted = await lent.client.query('INSERT INTO note SELECT generate_series(1, 3)')
    const updated = await lent.client.query('UPDATE note SET text = $1 WHERE id > $2', ['seen', 1])
    const selected = await lent.client.query('SELECT id FROM note WHERE text IS NULL')

    expect([inserted.command, inserted.rowCount]).toEqual(['INSERT', 3])
    expect([updated.command, updated.rowCount]).toEqual(['UPDATE', 2])
    expect([selected.command, selected.rowCount, selected.rows]).toEqual(['SELECT', 1, [{ id: 1 }]])
  })

  test('the writes of a transaction are visible once it has committed', async () => {
    await emptyTables(database, 'rollcall')

    await database.db.transaction().execute(async (tx) => {
      await tx.insertInto('note').values({ id: 1, text: 'a' }).execute()
      await tx.insertInto('note').values({ id: 2, text: 'b' }).execute()
    })

    expect(await ids()).toEqual([1, 2])
  })

  test('a transaction whose function throws writes nothing', async () => {
    await emptyTables(database, 'rollcall')

    const outcome = database.db.transaction().execute(async (tx) => {
      await tx.insertInto('note').values({ id: 1, text: 'a' }).execute()
      throw new Error('changed my mind')
    })

    await expect(outcome).rejects.toThrow('changed my mind')
    expect(await ids()).toEqual([])
  })

  test('a refused statement has the code of PostgreSQL, and the pool stays usable', async () => {
    await emptyTables(database, 'rollcall')
    await database.pool.query('INSERT INTO note VALUES (1)')

    const refused = database.pool.query('INSERT INTO note VALUES (1)')

    await expect(refused).rejects.toMatchObject({ code: '23505', constraint: 'note_pkey' })
    expect(await ids()).toEqual([1])
  })

  test('after an error a transaction refuses everything until it is rolled back', async () => {
    await using lent = await lend()
    await lent.client.query('BEGIN')
    await lent.client.query('INSERT INTO note VALUES (1)')

    await expect(lent.client.query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' })
    await expect(lent.client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' })
    await lent.client.query('ROLLBACK')

    expect((await lent.client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    expect(await ids()).toEqual([])
  })

  test('a savepoint undoes a part of a transaction', async () => {
    await using lent = await lend()

    await lent.client.query('BEGIN')
    await lent.client.query('INSERT INTO note VALUES (1)')
    await lent.client.query('SAVEPOINT before')
    await expect(lent.client.query('INSERT INTO note VALUES (1)')).rejects.toMatchObject({ code: '23505' })
    await lent.client.query('ROLLBACK TO SAVEPOINT before')
    await lent.client.query('INSERT INTO note VALUES (2)')
    await lent.client.query('COMMIT')

    expect(await ids()).toEqual([1, 2])
  })

  test('uncommitted writes are never visible to others', async () => {
    await using lent = await lend()
    await lent.client.query('BEGIN')
    await lent.client.query('INSERT INTO note VALUES (1)')

    // PostgreSQL answers at once with what was there before; PGlite answers after the transaction.
    const seenMeanwhile = ids()
    await lent.client.query('INSERT INTO note VALUES (2)')
    await lent.client.query('ROLLBACK')

    expect(await seenMeanwhile).toEqual([])
  })

  test('a client that is released inside of a transaction is rolled back', async () => {
    await emptyTables(database, 'rollcall')
    const client = await database.pool.connect()
    await client.query('BEGIN')
    await client.query('INSERT INTO note VALUES (1)')

    client.release()

    expect(await ids()).toEqual([])
  })

  test('a client that is destroyed inside of a transaction is rolled back', async () => {
    await emptyTables(database, 'rollcall')
    const client = await database.pool.connect()
    await client.query('BEGIN')
    await client.query('INSERT INTO note VALUES (1)')

    client.release(true)

    expect(await ids()).toEqual([])
  })

  test('fifty clients at once each get their own transaction, and none loses an update', async () => {
    await emptyTables(database, 'rollcall')
    await database.pool.query(`INSERT INTO note VALUES (1, '0')`)

    await Promise.all(
      Array.from({ length: 50 }, () =>
        database.db.transaction().execute(async (tx) => {
          const note = await tx
            .selectFrom('note')
            .select('text')
            .where('id', '=', 1)
            .forUpdate()
            .executeTakeFirstOrThrow()
          await setTimeout(1)
          await tx
            .updateTable('note')
            .set({ text: String(Number(note.text) + 1) })
            .where('id', '=', 1)
            .execute()
        }),
      ),
    )

    expect((await database.pool.query('SELECT text FROM note')).rows).toEqual([{ text: '50' }])
  })

  test('statements with and without parameters of many clients do not mix', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        if (index % 3 === 0) return (await database.pool.query(`SELECT ${index} AS value`)).rows[0].value
        return (await database.pool.query('SELECT $1::int AS value', [index])).rows[0].value
      }),
    )

    expect(answers).toEqual(Array.from({ length: 200 }, (_, index) => index))
  })

  test('timers run while queries follow upon each other', async () => {
    let done = false
    const timer = setTimeout(20).then(() => {
      done = true
    })

    while (!done) await database.pool.query('SELECT 1')

    await timer
    expect(done).toBe(true)
  })

  test('a large parameter and a large answer arrive whole', async () => {
    const text = 'ä€𝄞"\\\n'.repeat(400_000)

    const { rows } = await database.pool.query('SELECT $1::text AS text, length($1::text) AS length', [text])

    expect(rows[0].text === text).toBe(true)
    expect(rows[0].length).toBe(400_000 * 6)
  })

  test('Kysely counts what a statement changed', async () => {
    await emptyTables(database, 'rollcall')
    await database.db
      .insertInto('note')
      .values([1, 2, 3].map((id) => ({ id, text: null })))
      .execute()

    const { numUpdatedRows } = await database.db
      .updateTable('note')
      .set({ text: 'x' })
      .where('id', '<', 3)
      .executeTakeFirst()
    const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM note WHERE text = ${'x'}`.execute(
      database.db,
    )

    expect(numUpdatedRows).toBe(2n)
    expect(rows).toEqual([{ count: 2 }])
  })
})
