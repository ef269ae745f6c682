import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { type Migration, migrate } from '../../src/database/migrate.ts'
import { createEmptyPostgresDatabase, emptyDatabases } from '../helpers/servers/databases.ts'

const first: Migration = {
  name: '0001-city',
  sql: `CREATE TABLE city (name text PRIMARY KEY);
        INSERT INTO city VALUES ('Bonn');`,
}
const second: Migration = { name: '0002-size', sql: 'ALTER TABLE city ADD COLUMN size int NOT NULL DEFAULT 0' }
const broken: Migration = { name: '0003-broken', sql: 'CREATE TABLE river (id int); SELECT 1 / 0' }

describe.each(emptyDatabases)('migrations on $name', ({ name: engine, createDatabase }) => {
  /** What PGlite does like PostgreSQL. */
  const alike = engine === 'PGlite' ? { tags: ['full'] } : {}

  let lifetime: AsyncDisposableStack
  let database: Database<object>

  beforeEach(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    database = lifetime.use(await openDatabase<object>({ at, schemas: ['rollcall', 'public'], migrations: [first] }))
  })

  afterEach(async () => {
    vi.restoreAllMocks()
    await lifetime.disposeAsync()
  })

  async function bring(...migrations: Migration[]): Promise<void> {
    await migrate(database.pool, migrations, { schema: 'rollcall', location: database.location })
  }

  async function applied(): Promise<string[]> {
    const { rows } = await database.pool.query('SELECT name FROM rollcall.migrations ORDER BY applied_at, name')
    return rows.map(({ name }) => name)
  }

  test('the first schema gets the tables', alike, async () => {
    const { rows } = await database.pool.query(
      `SELECT table_schema FROM information_schema.tables WHERE table_name = 'city'`,
    )

    expect(rows).toEqual([{ table_schema: 'rollcall' }])
  })

  test('each one is applied once, in order', alike, async () => {
    await bring(first, second)
    await bring(first, second)

    expect(await applied()).toEqual(['0001-city', '0002-size'])
    expect((await database.pool.query('SELECT * FROM city')).rows).toEqual([{ name: 'Bonn', size: 0 }])
  })

  test('a current database is only read, however many there are', alike, async () => {
    await bring(first, second)
    const queries = vi.spyOn(pg.Client.prototype, 'query')

    await bring(first, second)

    expect(queries.mock.calls.map(([text]) => String(text).slice(0, 6))).toEqual(['SELECT', 'SELECT'])
  })

  test('one that fails leaves nothing of itself, keeps those before it, and is named', async () => {
    const attempt = bring(first, second, broken)

    await expect(attempt).rejects.toThrow('migration "0003-broken" of schema "rollcall" failed')
    expect(await applied()).toEqual(['0001-city', '0002-size'])
    expect((await database.pool.query(`SELECT to_regclass('river') AS river`)).rows).toEqual([{ river: null }])
  })

  test('one that failed can be applied once it is right', alike, async () => {
    await expect(bring(first, broken)).rejects.toThrow()

    await bring(first, { name: '0003-broken', sql: 'CREATE TABLE river (id int)' })

    expect(await applied()).toEqual(['0001-city', '0003-broken'])
  })

  test('one whose text has changed since is refused', alike, async () => {
    const attempt = bring({ ...first, sql: `${first.sql} -- edited` })

    await expect(attempt).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/by a development version of Rollcall .*\(migration "0001-city"\)/),
    })
  })

  test('a history that begins differently is refused as that of a development version', alike, async () => {
    await bring(first, second)

    const attempt = bring({ name: '0001-all', sql: 'CREATE TABLE city (name text)' })

    await expect(attempt).rejects.toMatchObject({
      code: 'config_invalid',
      exit: 78,
      message: expect.stringMatching(
        /^the schema "rollcall" of .* was written by a development version .*: begin with an empty database or folder/,
      ),
    })
    expect(await applied()).toEqual(['0001-city', '0002-size'])
  })

  test('a database that a newer version has written is refused', alike, async () => {
    await bring(first, second)

    const attempt = bring(first)

    await expect(attempt).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(
        /by a newer version of Rollcall \(migration "0002-size"\): use that version, or a newer one/,
      ),
    })
  })

  test('several starters at once share the work, and all succeed', async () => {
    await Promise.all(Array.from({ length: 5 }, () => bring(first, second)))

    expect(await applied()).toEqual(['0001-city', '0002-size'])
  })
})

test('daemons that start together on an empty server all find it ready', async () => {
  await using server = await createEmptyPostgresDatabase()

  const opened = await Promise.all(
    Array.from({ length: 4 }, () =>
      openDatabase<object>({ at: server.at, schemas: ['rollcall'], migrations: [first, second] }),
    ),
  )

  const counts = await Promise.all(
    opened.map(async ({ pool }) => (await pool.query('SELECT count(*) AS count FROM city')).rows[0].count),
  )
  for (const database of opened) await database[Symbol.asyncDispose]()
  expect(counts).toEqual([1, 1, 1, 1])
})

describe('a user who may create nothing', () => {
  const name = `reader_${process.pid}`
  let lifetime: AsyncDisposableStack
  let owner: Database<object>
  let at: string

  beforeEach(async () => {
    lifetime = new AsyncDisposableStack()
    const server = lifetime.use(await createEmptyPostgresDatabase())
    owner = lifetime.use(await openDatabase<object>({ at: server.at, schemas: ['rollcall'], migrations: [first] }))
    await owner.pool.query(`CREATE ROLE ${name} LOGIN PASSWORD 'reader'`)
    lifetime.defer(async () => {
      await owner.pool.query(`DROP OWNED BY ${name}`)
      await owner.pool.query(`DROP ROLE ${name}`)
    })
    const url = new URL(server.at)
    url.username = name
    url.password = 'reader'
    at = url.href
  })

  afterEach(() => lifetime.disposeAsync())

  test('can start on a database that its owner has prepared', async () => {
    await owner.pool.query(`GRANT USAGE ON SCHEMA rollcall TO ${name}`)
    await owner.pool.query(`GRANT ALL ON ALL TABLES IN SCHEMA rollcall TO ${name}`)

    await using reader = await openDatabase<object>({ at, schemas: ['rollcall'], migrations: [first] })

    expect((await reader.pool.query('SELECT name FROM city')).rows).toEqual([{ name: 'Bonn' }])
  })

  test('learns which rights to grant on any other', async () => {
    const attempt = openDatabase<object>({ at, schemas: ['elsewhere'], migrations: [first] })

    await expect(attempt).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('CREATE SCHEMA elsewhere AUTHORIZATION'),
    })
  })
})
