import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { copyBytes, copyRows, int4, readBytes, uuidBytes } from '../../src/database/copy.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { copyMark, copyMessages, queryMessage, takeBatches } from '../../src/database/wire.ts'
import { emptyDatabases, emptyTables } from '../helpers/servers/databases.ts'

type Tables = { note: { id: number; text: string | null; extra: unknown } }

const migrations = [{ name: '0001-note', sql: 'CREATE TABLE note (id int PRIMARY KEY, text text, said json)' }]
const columns = ['id', 'text', 'said']

describe.each(emptyDatabases)('COPY on $name', ({ createDatabase }) => {
  let lifetime: AsyncDisposableStack
  let database: Database<Tables>

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    database = lifetime.use(await openDatabase<Tables>({ at, schemas: ['rollcall'], migrations }))
  })

  beforeEach(() => emptyTables(database, 'rollcall'))

  afterAll(() => lifetime.disposeAsync())

  const notes = () => database.db.selectFrom('note').selectAll().orderBy('id').execute()

  test('texts and documents are read back as they were written, whatever they hold', async () => {
    const texts = [
      '',
      'Ana',
      '\\N',
      '\\.',
      '\\',
      'a\tb\nc\rd\r\n',
      '"quoted", {json}',
      'Zoë 🙂 李',
      '\u0001\u007f',
      "it's $1",
      null,
    ]
    const rows = texts.map((text, id) => ({ id, text, said: { text } }))

    await copyRows(database.db, {
      table: 'note',
      columns,
      rows: rows.map(({ id, text, said: extra }) => [id, text, JSON.stringify(extra)]),
    })

    expect(await notes()).toEqual(rows)
  })

  test('writes nothing without rows', async () => {
    await copyRows(database.db, { table: 'note', columns, rows: [] })

    expect(await notes()).toEqual([])
  })

  test('bytes are read unchanged, whatever they are and however many', async () => {
    const large = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 256))
    const bytes = [Buffer.from([0, 255, 10, 92, 46, 0]), Buffer.alloc(0), large, Buffer.from('\\x00')]
    const values = bytes.map((each, at) => `(${at}, '\\x${each.toString('hex')}'::bytea)`)
    const selected = (where: string) =>
      `select data from (values ${values.join(', ')}) as v(at, data) where ${where} order by at`

    const all = await bytesOf(database.db, selected('true'))
    const none = await bytesOf(database.db, selected('false'))

    expect(all.map((each, at) => each.equals(bytes[at] ?? Buffer.alloc(0)))).toEqual(bytes.map(() => true))
    expect(none).toEqual([])
  })

  test('bytes are written unchanged, with the numbers and IDs beside them', async () => {
    const id = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
    const bytes = [Buffer.from([0, 255, 10, 92, 46, 0]), Buffer.alloc(0), Buffer.alloc(300_000, 7)]

    await database.db.transaction().execute(async (tx) => {
      await sql`create temporary table kept (id uuid, at int, data bytea) on commit drop`.execute(tx)
      const rows = bytes.map((each, at) => [uuidBytes(id), int4(at - 1), each])
      await copyBytes(tx, { table: 'kept', columns: ['id', 'at', 'data'], rows })

      const kept = await sql<{ id: string; at: number; data: Buffer }>`select * from kept order by at`.execute(tx)
      expect(kept.rows.map((row) => [row.id, row.at])).toEqual(bytes.map((_, at) => [id, at - 1]))
      expect(kept.rows.map(({ data }, at) => bytes[at]?.equals(data))).toEqual([true, true, true])
    })
  })

  test('a query of bytes that fails says why, and leaves the connection usable', async () => {
    await expect(bytesOf(database.db, 'select data from nothing')).rejects.toMatchObject({ code: '42P01' })

    const within = await database.db.transaction().execute(async (tx) => {
      await copyRows(tx, { table: 'note', columns, rows: [[1, 'a', null]] })
      return await bytesOf(tx, `select convert_to(text, 'UTF8') from note`)
    })
    expect(within.map(String)).toEqual(['a'])
  })

  test('an error of the reader of bytes is passed on, and leaves the connection usable', async () => {
    const values = `select data from (values ('\\x01'::bytea), ('\\x02'::bytea)) as v(data)`

    const within = await database.db.transaction().execute(async (tx) => {
      const failed = readBytes(tx, values, ([first]) => {
        throw new Error(`cannot take ${first}`)
      })
      await expect(failed).rejects.toThrow('cannot take 1')
      return await bytesOf(tx, values)
    })

    expect(within).toEqual([Buffer.from([1]), Buffer.from([2])])
  })

  test('many rows travel at once, while others use the database', async () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => [id, 'x'.repeat(100), null] as const)

    const [, ...others] = await Promise.all([
      copyRows(database.db, { table: 'note', columns, rows }),
      ...[1, 2, 3].map((id) => sql<{ id: number }>`select ${id}::int as id`.execute(database.db)),
    ])

    expect(others.map(({ rows: [row] }) => row?.id)).toEqual([1, 2, 3])
    expect((await notes()).length).toBe(50_000)
  })

  test.for([
    [
      'a key that is there already',
      [
        [2, 'b', null],
        [1, 'again', null],
        [3, 'c', null],
      ],
      columns,
      '23505',
    ],
    [
      'a value of another type',
      [
        [2, 'b', null],
        ['three', 'c', null],
        [4, 'd', null],
      ],
      columns,
      '22P02',
    ],
    ['a column that is not there', [[2, 'b', null]], ['id', 'text', 'nothing'], '42703'],
  ] as const)('%s fails with its code, adds no row and leaves the connection usable', async ([, rows, into, code]) => {
    await copyRows(database.db, { table: 'note', columns, rows: [[1, 'a', null]] })

    const failed = database.db.transaction().execute(async (tx) => {
      await copyRows(tx, { table: 'note', columns, rows: [[9, 'in the same transaction', null]] })
      await copyRows(tx, { table: 'note', columns: into, rows })
    })

    await expect(failed).rejects.toMatchObject({ code })
    expect(await notes()).toEqual([{ id: 1, text: 'a', said: null }])
    await copyRows(database.db, { table: 'note', columns, rows: [[5, 'after', null]] })
    expect((await notes()).map(({ id }) => id)).toEqual([1, 5])
  })
})

test('a COPY is one batch with its rows, in whatever pieces it arrives', () => {
  const copy = Buffer.concat(copyMessages(`${copyMark}copy note (id) from stdin`, Buffer.from('1\n2\n')))
  const bytes = Buffer.concat([queryMessage('begin'), copy, queryMessage('commit')])

  for (let cut = 0; cut <= bytes.length; cut++) {
    const first = takeBatches(bytes.subarray(0, cut))
    const second = takeBatches(Buffer.concat([first.rest, bytes.subarray(cut)]))

    const batches = [...first.batches, ...second.batches].map((batch) => batch.toString('latin1'))
    expect(batches).toEqual(
      [queryMessage('begin'), copy, queryMessage('commit')].map((batch) => batch.toString('latin1')),
    )
    expect(second.rest).toHaveLength(0)
  }
})

async function bytesOf(db: Parameters<typeof readBytes>[0], query: string): Promise<Buffer[]> {
  const values: Buffer[] = []
  await readBytes(db, query, (value) => values.push(Buffer.from(value)))
  return values
}
