import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { createEmptyPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'

const secret = 'kGmd8uPw'

function open(at: string, poolSize = 10) {
  return openDatabase<object>({ at, schemas: ['rollcall'], migrations: [], poolSize })
}

describe('a PostgreSQL server', () => {
  let server: TestDatabase

  beforeAll(async () => {
    server = await createEmptyPostgresDatabase()
  })

  afterAll(() => server[Symbol.asyncDispose]())

  test('is named by host, port and database, never with its password', async () => {
    await using database = await open(server.at)

    const { host, pathname, password } = new URL(server.at)
    expect(database.location).toBe(`PostgreSQL at ${host}${pathname}`)
    expect(database.location).not.toContain(password)
  })

  test('that gets a wrong password is refused without repeating the password', async () => {
    const url = new URL(server.at)
    url.password = secret

    const refused = open(url.href)

    await expect(refused).rejects.toMatchObject({ code: 'database_unreachable', cause: expect.anything() })
    await expect(refused).rejects.toThrow(`${url.host}${url.pathname}: password authentication failed`)
    await expect(refused).rejects.not.toThrow(secret)
  })

  test('that does not have the database is refused with its name', async () => {
    const url = new URL(server.at)
    url.pathname = '/nowhere'

    await expect(open(url.href)).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining('database "nowhere" does not exist'),
    })
  })

  test('that closes connections, idle or lent, loses only these', async () => {
    await using database = await open(server.at)
    await using observer = await open(server.at)
    const lent = await database.pool.connect()
    const closed = [new Promise((resolve) => lent.once('end', resolve))]
    database.pool.on('connect', (idle) => {
      closed.push(new Promise((resolve) => idle.once('end', resolve)))
    })
    await Promise.all([database.pool.query('SELECT pg_sleep(0.1)'), database.pool.query('SELECT pg_sleep(0.1)')])

    await observer.pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    await Promise.all(closed)
    lent.release(true)

    expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })

  test('keeps the options of the address', async () => {
    const url = new URL(server.at)
    url.searchParams.set('options', '-c work_mem=5MB')

    await using database = await open(url.href)

    const { rows } = await database.pool.query(
      `SELECT current_setting('work_mem') AS memory, current_setting('search_path') AS path`,
    )
    expect(rows).toEqual([{ memory: '5MB', path: 'rollcall' }])
  })

  test('lends no more connections than the pool has', async () => {
    await using database = await open(server.at, 2)

    const pids = await Promise.all(
      Array.from(
        { length: 8 },
        async () => (await database.pool.query('SELECT pg_backend_pid() AS pid, pg_sleep(0.01)')).rows[0].pid,
      ),
    )

    expect(new Set(pids).size).toBeLessThanOrEqual(2)
  })
})

test('a server that is down is refused with its address', async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  const port = typeof address === 'object' ? address?.port : 0
  probe.close()

  await expect(open(`postgres://u:${secret}@127.0.0.1:${port}/x`)).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringMatching(new RegExp(`^cannot use PostgreSQL at 127\\.0\\.0\\.1:${port}/x: .*ECONNREFUSED`)),
  })
})

test('a host that does not exist is refused with its name', async () => {
  await expect(open(`postgres://u:${secret}@no-such-host.invalid/x`)).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringMatching(/^cannot use PostgreSQL at no-such-host\.invalid:5432\/x: /),
  })
})

test.each([
  `postgres://u:${secret}#@:x/`,
  `postgres://u:${secret}@%zz/x`,
  `postgres://u:${secret}@a%20b/x`,
  `postgres://u:${secret}@127.0.0.1:1/%`,
])('an address that cannot be read is refused without repeating it: %s', async (at) => {
  const refused = open(at)

  await expect(refused).rejects.toMatchObject({ code: 'config_invalid' })
  await expect(refused).rejects.not.toThrow(secret)
})

test('a name that no schema can have is refused', async () => {
  const refused = openDatabase({ at: 'memory:', schemas: ['a; DROP'], migrations: [] })

  await expect(refused).rejects.toMatchObject({ code: 'config_invalid' })
})
