import { type KyselyPlugin, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { type PieceLimits, readRowsBySize } from '../../src/database/rows-by-size.ts'
import { emptyDatabases } from '../helpers/servers/databases.ts'

const migration = {
  name: '0001-notes',
  sql: `create table notes (id int primary key, note text);
        insert into notes select n, repeat('x', case when n % 4 = 0 then 50 else 1 end) from generate_series(1, 10) n;
        insert into notes values (11, repeat('ä', 300)), (12, null)`,
}

describe.each(emptyDatabases)('rows by size on $name', ({ createDatabase }) => {
  let lifetime: AsyncDisposableStack
  let database: Database<object>

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    database = lifetime.use(await openDatabase<object>({ at, schemas: ['rollcall'], migrations: [migration] }))
  })
  afterAll(() => lifetime.disposeAsync())

  const piecesOf = (limits: PieceLimits, where = sql`true`) =>
    database.db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute((trx) =>
        Array.fromAsync(
          readRowsBySize(
            trx,
            { table: 'notes', text: sql`json_build_array(id, note)::text`, where, orderBy: sql`id desc` },
            limits,
          ),
        ),
      )

  const note = (n: number) => JSON.stringify([n, 'x'.repeat(n % 4 === 0 ? 50 : 1)])
  const expected = [
    '[12, null]',
    `[11, "${'ä'.repeat(300)}"]`,
    ...[10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((n) => note(n).replace(',', ', ')),
  ]

  test.each<PieceLimits>([
    { maxRows: 2, maxBytes: 30 },
    { maxRows: 3, maxBytes: 120 },
    { maxRows: 4, maxBytes: 10 },
    { maxRows: 1, maxBytes: 1 },
    {},
  ])('arrive complete and in order, in pieces within the limits or of one row: %j', async (limits) => {
    const { maxRows = 1000, maxBytes = 1_000_000 } = limits

    const pieces = await piecesOf(limits)

    expect(pieces.flat()).toEqual(expected)
    for (const piece of pieces) {
      expect(piece.length).toBeLessThanOrEqual(maxRows)
      if (piece.length > 1) expect(Buffer.byteLength(piece.join(''))).toBeLessThanOrEqual(maxBytes)
    }
  })

  test('no response of the database exceeds the size of a piece, even if long rows follow short ones', async () => {
    const answers: number[] = []
    const watch: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        answers.push(result.rows.reduce((sum, { text }) => sum + String(text ?? '').length, 0))
        return result
      },
    }

    await database.db
      .withPlugin(watch)
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (trx) => {
        const text = sql`repeat('x', case when id < 4 then 1 else 40 end)`
        await Array.fromAsync(
          readRowsBySize(trx, { table: 'notes', text, orderBy: sql`id` }, { maxRows: 10, maxBytes: 90 }),
        )
      })

    expect(answers.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 3, 40, 80, 80, 80, 80])
  })

  test('are the requested ones', async () => {
    expect(await piecesOf({ maxRows: 2, maxBytes: 30 }, sql`id in (3, 8)`)).toEqual([[expected[4]], [expected[9]]])
  })

  test('of a table without rows are none', async () => {
    expect(await piecesOf({}, sql`false`)).toEqual([])
  })

  test('many tables are read one after the other in one transaction', async () => {
    const texts = await database.db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (trx) => [
        await Array.fromAsync(readRowsBySize(trx, { table: 'notes', text: sql`id::text`, where: sql`id < 3` })),
        await Array.fromAsync(readRowsBySize(trx, { table: 'notes', text: sql`id::text`, where: sql`id = 3` })),
      ])

    expect(texts).toEqual([[['1', '2']], [['3']]])
  })
})
