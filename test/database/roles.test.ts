import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { openDatabaseBackend } from '../../src/queue/database-backend.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createEmptyPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'

/** A role that may do nothing but what a test grants, and a database that belongs to another one. */
type Role = AsyncDisposable & {
  readonly name: string
  readonly at: string
  /** Runs statements as the owner of the database. */
  owner(sql: string): Promise<void>
}

async function openRole(): Promise<Role> {
  await using opening = new AsyncDisposableStack()
  const server: TestDatabase = opening.use(await createEmptyPostgresDatabase())
  const name = `role_${randomBytes(6).toString('hex')}`
  const url = new URL(server.at)
  const database = url.pathname.slice(1)
  const owner = new pg.Client(server.at)
  await owner.connect()
  await owner.query(`CREATE ROLE ${name} LOGIN PASSWORD 'only-here'`)
  await owner.query(`REVOKE ALL ON DATABASE ${database} FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC`)
  await owner.query(`GRANT CONNECT ON DATABASE ${database} TO ${name}`)
  opening.defer(async () => {
    await owner.query(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`)
    await owner.end()
  })
  url.username = name
  url.password = 'only-here'
  const opened = opening.move()
  return {
    name,
    at: url.href,
    owner: async (sql) => {
      await owner.query(sql)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function openStore(at: string): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const store = opening.use(await openDatabase({ at, schemas: ['rollcall', 'bullmq'], migrations }))
  opening.use(await openDatabaseBackend(store, silentEvents()))
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

describe('a role without rights', () => {
  let role: Role
  beforeAll(async () => {
    role = await openRole()
  })
  afterAll(() => role[Symbol.asyncDispose]())

  test('learns which schemas to create, one after the other, and needs nothing else', async () => {
    await expect(openStore(role.at)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`CREATE SCHEMA rollcall AUTHORIZATION ${role.name}`),
    })

    await role.owner(`CREATE SCHEMA rollcall AUTHORIZATION ${role.name}`)
    await expect(openStore(role.at)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`CREATE SCHEMA bullmq AUTHORIZATION ${role.name}`),
    })

    await role.owner(`CREATE SCHEMA bullmq AUTHORIZATION ${role.name}`)
    await using _made = await openStore(role.at)
    await using _again = await openStore(role.at)
  })
})

test('a role that may not create in its schema learns which right to grant', async () => {
  await using role = await openRole()
  await role.owner(`CREATE SCHEMA rollcall; GRANT USAGE ON SCHEMA rollcall TO ${role.name}`)

  await expect(openStore(role.at)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(`GRANT USAGE, CREATE ON SCHEMA rollcall TO ${role.name}`),
  })
})

test('a role that may not use its schema learns which right to grant', async () => {
  await using role = await openRole()
  await role.owner('CREATE SCHEMA rollcall')

  await expect(openStore(role.at)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(`GRANT USAGE, CREATE ON SCHEMA rollcall TO ${role.name}`),
  })
})

test('a role that may not use the tables of another role gets the reason', async () => {
  await using role = await openRole()
  await role.owner(`CREATE SCHEMA rollcall; CREATE TABLE rollcall.migrations (name text, sha256 text);
    GRANT USAGE, CREATE ON SCHEMA rollcall TO ${role.name}`)

  await expect(openStore(role.at)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/what another role has made in the schema "rollcall".*ALTER TABLE/),
  })
})

describe('settings of an administrator for the role', () => {
  let role: Role
  beforeAll(async () => {
    role = await openRole()
    await role.owner(`
      CREATE SCHEMA rollcall AUTHORIZATION ${role.name};
      ALTER ROLE ${role.name} SET statement_timeout = '5s';
      ALTER ROLE ${role.name} SET lock_timeout = '1s';
      ALTER ROLE ${role.name} SET idle_in_transaction_session_timeout = '1s';
      ALTER ROLE ${role.name} SET datestyle = 'German';
      ALTER ROLE ${role.name} SET default_transaction_isolation = 'serializable';
      ALTER ROLE ${role.name} SET search_path = public`)
  })
  afterAll(() => role[Symbol.asyncDispose]())

  const query = `SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
    current_setting('idle_in_transaction_session_timeout') AS idle, '2026-11-20'::date AS day,
    current_setting('transaction_isolation') AS isolation, current_setting('search_path') AS path`

  test('change no value and cancel no statement', async () => {
    await using database = await openDatabase({ at: role.at, schemas: ['rollcall'], migrations: [] })

    const { rows } = await database.pool.query(query)

    expect(rows).toEqual([
      { statement: '0', lock: '0', idle: '30s', day: '2026-11-20', isolation: 'read committed', path: 'rollcall' },
    ])
  })

  test('are overridden by limits in the address', async () => {
    const url = new URL(role.at)
    url.searchParams.set('options', '-c statement_timeout=7s --lock-timeout=2s')

    await using database = await openDatabase({ at: url.href, schemas: ['rollcall'], migrations: [] })

    const { rows } = await database.pool.query(query)
    expect(rows).toMatchObject([{ statement: '7s', lock: '2s', idle: '30s' }])
  })

  test.each([
    ['statement_timeout', 'SELECT pg_sleep(60)', /has cancelled a statement.*statement_timeout/],
    ['lock_timeout', 'LOCK TABLE locked', /wait too long for a lock.*lock_timeout/],
  ])('include the limit of the address that cancelled a statement (%s)', async (limit, statement, message) => {
    const url = new URL(role.at)
    // Longer than what opens a session takes on a busy machine.
    url.searchParams.set('options', `-c ${limit}=500ms`)
    await using database = await openDatabase({ at: url.href, schemas: ['rollcall'], migrations: [] })
    await using holder = await openDatabase({ at: role.at, schemas: ['rollcall'], migrations: [] })
    await holder.pool.query('CREATE TABLE IF NOT EXISTS locked ()')
    const held = await holder.pool.connect()
    await held.query('BEGIN; LOCK TABLE locked')

    const client = await database.pool.connect()
    await client.query('BEGIN')
    const cut = await client.query(statement).catch((error: unknown) => error)
    client.release()
    const cutOfPool = await database.pool.query(`BEGIN; ${statement}`).catch((error: unknown) => error)
    held.release()

    const refused = { code: 'database_unreachable', retry: true, message: expect.stringMatching(message) }
    expect([cut, cutOfPool]).toMatchObject([refused, refused])
    // The connection goes on.
    await expect(database.pool.query('SELECT 1 AS one')).resolves.toMatchObject({ rows: [{ one: 1 }] })
  })

  test('is refused where it lets the role only read', async () => {
    const url = new URL(role.at)
    url.searchParams.set('options', '-c default_transaction_read_only=on')

    await expect(openDatabase({ at: url.href, schemas: ['rollcall'], migrations: [] })).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining('takes no writes: name the primary server, or end its read-only state'),
      // The readiness probe tells by it that the database is there, and takes no writes.
      cause: { cause: { code: '25006' } },
    })
  })
})
