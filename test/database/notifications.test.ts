import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/database/database.ts'
import type { PoolClient } from '../../src/database/pool.ts'
import { emptyDatabases } from '../helpers/servers/databases.ts'

describe.each(emptyDatabases)('notifications through $name', ({ createDatabase }) => {
  let lifetime: AsyncDisposableStack
  let database: Database<object>

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    database = lifetime.use(await openDatabase<object>({ at, schemas: ['rollcall'], migrations: [] }))
  })

  afterAll(() => lifetime.disposeAsync())

  async function listener(...statements: string[]) {
    const client = await database.pool.connect()
    const notifications: (string | undefined)[] = []
    client.on('notification', ({ payload }) => notifications.push(payload))
    for (const statement of statements) await client.query(statement)
    return { client, notifications, [Symbol.asyncDispose]: async () => client.release(true) }
  }

  async function notify(channel: string, payload: string): Promise<void> {
    await database.pool.query('SELECT pg_notify($1, $2)', [channel, payload])
  }

  /** Notifications keep their order: once this one has come, all before it have. */
  async function waitForNotifications({
    client,
    notifications,
  }: {
    client: PoolClient
    notifications: (string | undefined)[]
  }): Promise<(string | undefined)[]> {
    await client.query('LISTEN settled')
    const arrival = waitForPayload(client, 'end')
    await notify('settled', 'end')
    await arrival
    return notifications.filter((payload) => payload !== 'end')
  }

  async function waitForPayload(client: PoolClient, expected: string): Promise<void> {
    for (;;) {
      const [{ payload }] = await once(client, 'notification')
      if (payload === expected) return
    }
  }

  test('a listener receives notifications of another client without polling', async () => {
    await using ear = await listener('LISTEN news')

    const arrival = once(ear.client, 'notification')
    await notify('news', 'hello')

    expect(await arrival).toMatchObject([{ channel: 'news', payload: 'hello' }])
  })

  test('a channel reaches only its listeners', async () => {
    await using sports = await listener('LISTEN sports')
    await using weather = await listener('-- a comment before the word\nLISTEN "weather"')

    await notify('sports', '2:1')
    await notify('weather', 'rain')

    expect(await waitForNotifications(sports)).toEqual(['2:1'])
    expect(await waitForNotifications(weather)).toEqual(['rain'])
  })

  test('UNLISTEN of one client does not affect the others', async () => {
    await using stays = await listener('LISTEN news')
    await using leaves = await listener('LISTEN news')

    await leaves.client.query('UNLISTEN news')
    await notify('news', 'still here')

    expect(await waitForNotifications(stays)).toEqual(['still here'])
    expect(await waitForNotifications(leaves)).toEqual([])
  })

  test('UNLISTEN * of one client does not affect the others', async () => {
    await using stays = await listener('LISTEN news')
    await using leaves = await listener('LISTEN news', 'UNLISTEN *')

    await notify('news', 'still here')

    expect(await waitForNotifications(stays)).toEqual(['still here'])
    expect(await waitForNotifications(leaves)).toEqual([])
  })

  test('a closed listener does not affect the others', async () => {
    await using stays = await listener('LISTEN news')
    const leaves = await listener('LISTEN news')

    await leaves[Symbol.asyncDispose]()
    await notify('news', 'still here')

    expect(await waitForNotifications(stays)).toEqual(['still here'])
  })

  test('notifications of a transaction arrive when it commits, and never when it is rolled back', async () => {
    await using ear = await listener('LISTEN news')
    const speaker = await database.pool.connect()

    for (const [payload, end] of [
      ['unsaid', 'ROLLBACK'],
      ['said', 'COMMIT'],
    ] as const) {
      await speaker.query('BEGIN')
      await speaker.query(`SELECT pg_notify('news', $1)`, [payload])
      await speaker.query(end)
    }
    speaker.release()

    expect(await waitForNotifications(ear)).toEqual(['said'])
  })

  test('a listener also receives its own notifications', async () => {
    await using ear = await listener('LISTEN news')

    await ear.client.query(`NOTIFY news, 'echo'`)

    expect(await waitForNotifications(ear)).toEqual(['echo'])
  })
})
