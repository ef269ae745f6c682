import pg from 'pg'
import { expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { databaseFailure } from '../../src/database/failures.ts'
import { type Session, SessionWatch, serverMark } from '../../src/database/session-watch.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createEmptyPostgresDatabase } from '../helpers/servers/databases.ts'
import { type Link, openLink } from '../queue/link.ts'
import { noting, upsert } from '../queue/samples.ts'

const schemas = ['rollcall', 'bullmq'] as const
const sessionCheckMs = 50

type Linked = AsyncDisposable & {
  readonly link: Link
  /** Reached through the link. */
  readonly database: Database<object>
  /** Reaches the same database without the link. */
  readonly direct: Database<object>
}

async function open(): Promise<Linked> {
  await using opening = new AsyncDisposableStack()
  const { at } = opening.use(await createEmptyPostgresDatabase())
  const direct = opening.use(await openDatabase({ at, schemas, migrations: [] }))
  const link = opening.use(await openLink(at))
  const database = opening.use(await openDatabase({ at: link.url, schemas, migrations: [], sessionCheckMs }))
  const opened = opening.move()
  return { link, database, direct, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Ends the sessions of the server that run the statement, or all but this one; the link tells nobody. */
async function endSessions({ direct }: Linked, statement = '%'): Promise<void> {
  await direct.pool.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE $1`,
    [statement],
  )
}

async function untilRunning({ direct }: Linked, statement: string): Promise<void> {
  const running = `SELECT 1 FROM pg_stat_activity WHERE query LIKE $1 AND state = 'active' AND pid <> pg_backend_pid()`
  await expect.poll(async () => (await direct.pool.query(running, [statement])).rows.length).toBe(1)
}

test('a statement whose server has ended behind an open connection fails, and the next one is answered', async () => {
  await using linked = await open()
  const { database, link } = linked
  const waiting = database.pool.query('SELECT pg_sleep(600) AS gone').catch((error: unknown) => error)
  await untilRunning(linked, '%pg_sleep(600) AS gone')

  link.freeze()
  await endSessions(linked, '%pg_sleep(600) AS gone')

  expect(databaseFailure(await waiting)?.message).toBe(
    'the database does not answer: check that it runs and can be reached (ETIMEDOUT)',
  )
  expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
})

test('a statement that the server never got, or whose answer is lost on the way, fails', async () => {
  await using linked = await open()
  const { database, link } = linked
  const failing = (sent: Promise<unknown>) => sent.catch((error: unknown) => error)
  const idle = await database.pool.connect()
  const answerLost = failing(database.pool.query('SELECT pg_sleep(0.2) AS lost'))
  await untilRunning(linked, '%pg_sleep(0.2) AS lost')

  link.freeze()
  const neverSent = failing(idle.query('SELECT 2'))
  const outcomes = await Promise.all([answerLost, neverSent])
  idle.release(true)

  expect(outcomes).toEqual([
    expect.objectContaining({ code: 'ETIMEDOUT' }),
    expect.objectContaining({ code: 'ETIMEDOUT' }),
  ])
})

test('a long statement is not interrupted while its server works on it', async () => {
  await using linked = await open()
  const { database } = linked
  const looked = database.pool.query('SELECT pg_sleep(0.8) AS slow')

  await expect(looked).resolves.toMatchObject({ rowCount: 1 })
})

test('statements fail if their server is unreachable behind connections that stay open', async () => {
  await using linked = await open()
  const { database, link } = linked
  const waiting = database.pool.query('SELECT pg_sleep(600) AS away').catch((error: unknown) => error)
  await untilRunning(linked, '%pg_sleep(600) AS away')

  link.freeze()
  link.refuse()

  expect(await waiting).toMatchObject({ code: 'ETIMEDOUT' })
})

/** A session of its own, which is checked through the server at `checkAt`. */
async function watched(at: string, { checkAt = at, server }: { checkAt?: string; server?: string }) {
  const client = new pg.Client(at)
  client.on('error', () => {})
  const watch = new SessionWatch(client, { config: { connectionString: checkAt }, sessionCheckMs })
  await client.connect()
  const { rows } = await client.query<Session>(`SELECT pg_backend_pid() AS pid, ${serverMark} AS server`)
  watch.onOpened({ ...(rows[0] as Session), ...(server && { server }) })
  return {
    async query(statement: string) {
      const answered = watch.expectAnswer()
      return await client.query(statement).finally(answered)
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

test('a statement fails after its server restarted, even if another session has its number now', async () => {
  await using server = await createEmptyPostgresDatabase()
  await using session = await watched(server.at, { server: '1' })

  await expect(session.query('SELECT pg_sleep(600) AS before')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
})

test('a statement is not interrupted while the name of its server cannot be resolved', async () => {
  await using server = await createEmptyPostgresDatabase()
  const checkAt = Object.assign(new URL(server.at), { hostname: `${'x'.repeat(64)}.invalid` }).href
  await using session = await watched(server.at, { checkAt })

  await expect(session.query('SELECT pg_sleep(0.8) AS unnamed')).resolves.toMatchObject({ rowCount: 1 })
})

test('a session that listens for jobs is replaced once its server has ended behind an open connection', async () => {
  await using linked = await open()
  const { database, direct, link } = linked
  await using queue = await openQueue({ backend: { kind: 'database', database }, events: silentEvents() })
  await using enqueuing = await openQueue({ backend: { kind: 'database', database: direct }, events: silentEvents() })
  const recorder = noting(2)
  await using _working = await queue.work(recorder.workers, { concurrency: 2 })
  const listening = async () =>
    (
      await direct.pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE application_name = 'jobs' AND datname = current_database()`,
      )
    ).rows.map(({ pid }) => pid)
  await enqueuing.enqueue([upsert(1)])
  await expect.poll(() => recorder.batches).toEqual([1])
  const before = await listening()

  link.freeze()
  await endSessions(linked)

  await expect.poll(listening, { timeout: 30_000 }).toEqual([expect.any(Number)])
  expect(await listening()).not.toEqual(before)
  await enqueuing.enqueue([upsert(2)])
  await recorder.enough
  expect(recorder.batches).toEqual([1, 2])
})

test('a pool whose server has gone behind open connections can be closed', async () => {
  await using linked = await open()
  const { link } = linked
  const database = await openDatabase({ at: link.url, schemas, migrations: [], sessionCheckMs })
  const closed = new Promise((resolve) => database.pool.once('remove', resolve))
  await database.pool.query('SELECT 1')

  link.freeze()
  await database[Symbol.asyncDispose]()

  await expect(closed).resolves.toBeDefined()
})
