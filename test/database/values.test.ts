import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { emptyDatabases } from '../helpers/servers/databases.ts'

const instant = new Date('2026-03-29T00:59:59.123Z')

/** What goes in as a parameter of a type, and what comes out. */
const cases: readonly { readonly type: string; readonly written: unknown; readonly read: unknown }[] = [
  { type: 'text', written: 'Zoë "O\'Neill" \\ {,} 😀', read: 'Zoë "O\'Neill" \\ {,} 😀' },
  { type: 'text', written: '', read: '' },
  { type: 'text', written: null, read: null },
  { type: 'boolean', written: true, read: true },
  { type: 'boolean', written: false, read: false },
  { type: 'int', written: -7, read: -7 },
  { type: 'int', written: '42', read: 42 },
  { type: 'bigint', written: Number.MAX_SAFE_INTEGER, read: Number.MAX_SAFE_INTEGER },
  { type: 'bigint', written: 5n, read: 5 },
  { type: 'bigint', written: 9_223_372_036_854_775_807n, read: 9_223_372_036_854_775_807n },
  { type: 'double precision', written: 0.1, read: 0.1 },
  { type: 'numeric', written: '12345678901234567890.5', read: '12345678901234567890.5' },
  { type: 'uuid', written: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff', read: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff' },
  { type: 'bytea', written: Buffer.from([0, 1, 254, 255]), read: Buffer.from([0, 1, 254, 255]) },
  { type: 'timestamptz', written: instant, read: instant },
  { type: 'timestamptz', written: '2026-03-29T02:59:59.123+02:00', read: instant },
  { type: 'timestamp', written: '2026-03-29 02:30:00', read: '2026-03-29 02:30:00' },
  { type: 'date', written: '2026-03-29', read: '2026-03-29' },
  {
    type: 'jsonb',
    written: { name: 'a', list: [1, null, { deep: true }] },
    read: { name: 'a', list: [1, null, { deep: true }] },
  },
  { type: 'jsonb', written: '{"a": [1, "2"]}', read: { a: [1, '2'] } },
  { type: 'jsonb', written: JSON.stringify([1, 'two']), read: [1, 'two'] },
  { type: 'json', written: { z: 1, a: null }, read: { z: 1, a: null } },
  {
    type: 'text[]',
    written: ['a', 'b,c', '"q"', '{}', '\\', '', null, 'NULL'],
    read: ['a', 'b,c', '"q"', '{}', '\\', '', null, 'NULL'],
  },
  { type: 'text[]', written: [], read: [] },
  { type: 'int[]', written: [1, 2, null], read: [1, 2, null] },
  { type: 'bigint[]', written: [1, Number.MAX_SAFE_INTEGER], read: [1, Number.MAX_SAFE_INTEGER] },
  { type: 'boolean[]', written: [true, false], read: [true, false] },
  { type: 'timestamptz[]', written: [instant, null], read: [instant, null] },
  { type: 'date[]', written: ['2026-03-29'], read: ['2026-03-29'] },
  { type: 'timestamp[]', written: ['2026-03-29 02:30:00'], read: ['2026-03-29 02:30:00'] },
  { type: 'jsonb[]', written: [{ a: 1 }, { b: [2] }], read: [{ a: 1 }, { b: [2] }] },
]

describe.each(emptyDatabases)('values through $name', ({ createDatabase }) => {
  let lifetime: AsyncDisposableStack
  let database: Database<object>

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    database = lifetime.use(await openDatabase<object>({ at, schemas: ['rollcall'], migrations: [] }))
  })

  afterAll(() => lifetime.disposeAsync())

  test.each(cases)('$type takes $written', async ({ type, written, read }) => {
    const { rows } = await database.pool.query(`SELECT $1::${type} AS value`, [written])

    expect(rows).toEqual([{ value: read }])
  })

  test('a column takes the same values as a cast', async () => {
    await database.pool.query(
      'CREATE TABLE person (names text[], seen timestamptz, born date, extra jsonb, photo bytea)',
    )

    await database.pool.query('INSERT INTO person VALUES ($1, $2, $3, $4, $5)', [
      ['a', 'b'],
      instant,
      '1990-01-31',
      { a: 1 },
      Buffer.from('x'),
    ])

    const { rows } = await database.pool.query('SELECT * FROM person')
    expect(rows).toEqual([
      { names: ['a', 'b'], seen: instant, born: '1990-01-31', extra: { a: 1 }, photo: Buffer.from('x') },
    ])
  })

  test('a count is a number', async () => {
    const { rows } = await database.pool.query('SELECT count(*) AS count FROM pg_class WHERE false')

    expect(rows).toEqual([{ count: 0 }])
  })

  test('a time that is read again is equal and a separate value', async () => {
    const { rows } = await database.pool.query(`
      SELECT CASE WHEN n = 3 THEN 'infinity' ELSE timestamptz '2026-03-29 00:59:59.123Z' + (n / 4) * interval '1 ms' END AS seen
      FROM generate_series(1, 800) n`)
    const times: unknown[] = rows.map(({ seen: read }) => read)

    expect(times[2]).toBe(Number.POSITIVE_INFINITY)
    expect(times.toSpliced(2, 1)).toEqual(
      Array.from({ length: 800 }, (_, at) => new Date(instant.getTime() + Math.floor((at + 1) / 4))).toSpliced(2, 1),
    )
    expect(times[0]).not.toBe(times[1])
  })

  test('any text and any JSON survive a round trip', async () => {
    // A text of PostgreSQL holds every character but U+0000, and no half of a surrogate pair.
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'))
    const json = fc.jsonValue({ stringUnit: 'grapheme' }).filter((value) => !JSON.stringify(value).includes('\\u0000'))

    await fc.assert(
      fc.asyncProperty(fc.array(text), json, async (texts, value) => {
        const { rows } = await database.pool.query('SELECT $1::text[] AS texts, $2::json AS value', [
          texts,
          JSON.stringify(value),
        ])
        expect(rows).toEqual([{ texts, value: JSON.parse(JSON.stringify(value)) }])
      }),
      { numRuns: 50 },
    )
  })
})
