import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyRows } from '../../src/database/copy.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createEmptyPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'
import { startPgBouncer } from '../helpers/servers/pgbouncer.ts'

describe('a PgBouncer', () => {
  let server: TestDatabase

  beforeAll(async () => {
    server = await createEmptyPostgresDatabase()
  })

  afterAll(() => server[Symbol.asyncDispose]())

  function open(at: string) {
    return openDatabase<object>({ at, schemas: ['rollcall', 'bullmq'], migrations: [], poolSize: 3 })
  }

  test.each([
    ['transaction', 'the connection used last', {}],
    ['transaction', 'its connections in turn', { server_round_robin: 1, min_pool_size: 3 }],
    ['transaction', 'a single connection', { default_pool_size: 1 }],
    ['statement', 'the connection used last', {}],
  ] as const)('that pools by %s and lends %s is refused with advice', async (mode, _, settings) => {
    await using pooler = await startPgBouncer(server.at, mode, settings)

    await expect(open(pooler.at)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/lends a connection for one transaction only.*in session mode/),
    })
  })

  test('that pools by session gives each session what it needs', async () => {
    await using pooler = await startPgBouncer(server.at, 'session')

    await using database = await open(pooler.at)

    const { rows } = await database.pool.query(
      `SELECT current_setting('search_path') AS path, current_setting('TimeZone') AS zone, current_setting('random_page_cost') AS cost`,
    )
    expect(rows).toEqual([{ path: 'rollcall,bullmq', zone: 'UTC', cost: '1.1' }])
  })

  test('passes a COPY on with its rows, also one that the server refuses', async () => {
    await using pooler = await startPgBouncer(server.at, 'session')
    await using database = await open(pooler.at)
    await database.pool.query('create table copied (id int primary key, text text)')
    const add = (from: number) =>
      copyRows(database.db, {
        table: 'copied',
        columns: ['id', 'text'],
        rows: Array.from({ length: 5000 }, (_, index) => [from + index, 'x'.repeat(100)]),
      })

    await add(1)
    const refused = await Promise.allSettled([add(5000), add(1)])
    await add(6000)

    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const { rows } = await database.pool.query('select count(*) as rows from copied')
    expect(rows).toEqual([{ rows: 10_000 }])
  })

  test('that has too few connections is refused with the required number', async () => {
    await using pooler = await startPgBouncer(server.at, 'session', { default_pool_size: 1, query_wait_timeout: 1 })

    await expect(open(pooler.at)).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(/gives no second connection .*at least 3 connections/),
    })
  })
})
