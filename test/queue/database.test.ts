import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { Failure } from '../../src/errors.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createEmptyPostgresDatabase, emptyDatabases } from '../helpers/servers/databases.ts'
import { noting, upsert, workers } from './samples.ts'

const schemas = ['rollcall', 'bullmq'] as const

describe.each(emptyDatabases)('a queue in $name', ({ createDatabase }) => {
  test('is closed quietly together with its database, whichever comes first', async () => {
    const unexpected: unknown[] = []
    const events = silentEvents((event) => {
      if (event.event === 'unexpected') unexpected.push(event.error)
    })
    await using address = await createDatabase()
    const database = await openDatabase({ at: address.at, schemas, migrations: [] })
    const queue = await openQueue({ backend: { kind: 'database', database }, events })
    await queue.work(workers({}), { concurrency: 4 })
    await queue.enqueue([upsert(1, { delayMs: 3_600_000 })])

    const closed = Promise.all([database[Symbol.asyncDispose](), queue[Symbol.asyncDispose]()])

    await expect(closed).resolves.toBeDefined()
    expect(unexpected).toEqual([])
  })

  test('stores only the code of a failure', async () => {
    const failed = Promise.withResolvers<void>()
    const events = silentEvents(({ event }) => {
      if (event === 'job.failed') failed.resolve()
    })
    await using address = await createDatabase()
    await using database = await openDatabase({ at: address.at, schemas, migrations: [] })
    await using queue = await openQueue({ backend: { kind: 'database', database }, events })
    await using working = await queue.work(
      workers({
        async upsert() {
          throw new Failure('platform_unreachable', 'Ana Ruiz is out')
        },
      }),
      { concurrency: 1 },
    )

    await queue.enqueue([upsert(1)])
    await failed.promise
    await working.stop({ withinMs: 10_000 })

    const { rows } = await database.pool.query('SELECT job::text AS job FROM bullmq.job')
    expect(JSON.stringify(rows)).toContain('platform_unreachable')
    expect(JSON.stringify(rows)).not.toMatch(/Ana|at .*\.ts/)
  })

  test('leaves no session of its worker and no listener of the pool behind', async () => {
    await using address = await createDatabase()
    await using database = await openDatabase({ at: address.at, schemas, migrations: [] })
    const before = database.pool.listenerCount('error')

    for (let time = 0; time < 3; time += 1) {
      await using queue = await openQueue({ backend: { kind: 'database', database }, events: silentEvents() })
      await queue.work(workers({}), { concurrency: 4 })
    }

    expect(database.pool.listenerCount('error')).toBe(before)
    expect(database.pool.totalCount - database.pool.idleCount).toBe(0)
  })
})

test('work goes on after the server has ended every session', async () => {
  await using address = await createEmptyPostgresDatabase()
  await using database = await openDatabase({ at: address.at, schemas, migrations: [] })
  await using queue = await openQueue({ backend: { kind: 'database', database }, events: silentEvents() })
  const recorder = noting(1)
  await using _working = await queue.work(recorder.workers, { concurrency: 2 })

  await endOtherSessions(address.at)
  await queue.enqueue([upsert(1)])
  await recorder.enough

  expect(recorder.batches).toEqual([1])
})

async function endOtherSessions(at: string): Promise<void> {
  const client = new pg.Client(at)
  await client.connect()
  await client.query(
    'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await client.end()
}
