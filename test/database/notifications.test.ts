import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/database/database.ts'
import type { PoolClient } from '../../src/database/pool.ts'
import { emptyDatabases } from '../helpers/servers/databases.ts'

describe.each(emptyDatabases)('notifications through $name', ({ createDatabase: place }) => {
  let lifetime: AsyncDisposableStack
  let database: Database<object>

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await place())
    database = lifetime.use(await openDatabase<object>({ at, schemas: ['rollcall'], migrations: [] }))
  })

  afterAll(() => lifetime.disposeAsync())

  async function listener(...statements: string[]) {
    const client = await database.pool.connect()
    const heard: (string | undefined)[] = []
    client.on('notification', ({ payload }) => heard.push(payload))
    for (const statement of statements) await client.query(statement)
    return { client, heard, [Symbol.asyncDispose]: async () => client.release(true) }
  }

  async function notify(channel: string, payload: string): Promise<void> {
    await database.pool.query('SELECT pg_notify($1, $2)', [channel, payload])
  }

  /** Notifications keep their order: once this one has come, all before it have. */
  async function settle({
    client,
    heard,
  }: {
    client: PoolClient
    heard: (string | undefined)[]
  }): Promise<(string | undefined)[]> {
    await client.query('LISTEN settled')
    const arrival = heardWord(client, 'end')
    await notify('settled', 'end')
    await arrival
    return heard.filter((payload) => payload !== 'end')
  }

  async function heardWord(client: PoolClient, word: string): Promise<void> {
    for (;;) {
      const [{ payload }] = await once(client, 'notification')
      if (payload === word) return
    }
  }

  test('who listens hears what another client says, without asking', async () => {
    await using ear = await listener('LISTEN news')

    const arrival = once(ear.client, 'notification')
    await notify('news', 'hello')

    expect(await arrival).toMatchObject([{ channel: 'news', payload: 'hello' }])
  })

  test('each channel reaches only those who listen to it', async () => {
    await using sports = await listener('LISTEN sports')
    await using weather = await listener('-- a comment before the word\nLISTEN "weather"')

    await notify('sports', '2:1')
    await notify('weather', 'rain')

    expect(await settle(sports)).toEqual(['2:1'])
    expect(await settle(weather)).toEqual(['rain'])
  })

  test('one who stops listening does not silence the others', async () => {
    await using stays = await listener('LISTEN news')
    await using leaves = await listener('LISTEN news')

    await leaves.client.query('UNLISTEN news')
    await notify('news', 'still here')

    expect(await settle(stays)).toEqual(['still here'])
    expect(await settle(leaves)).toEqual([])
  })

  test('one who stops listening to everything does not silence the others', async () => {
    await using stays = await listener('LISTEN news')
    await using leaves = await listener('LISTEN news', 'UNLISTEN *')

    await notify('news', 'still here')

    expect(await settle(stays)).toEqual(['still here'])
    expect(await settle(leaves)).toEqual([])
  })

  test('a closed listener does not silence the others', async () => {
    await using stays = await listener('LISTEN news')
    const leaves = await listener('LISTEN news')

    await leaves[Symbol.asyncDispose]()
    await notify('news', 'still here')

    expect(await settle(stays)).toEqual(['still here'])
  })

  test('what a transaction says is heard when it commits, and never when it is rolled back', async () => {
    await using ear = await listener('LISTEN news')
    const speaker = await database.pool.connect()

    for (const [word, end] of [
      ['unsaid', 'ROLLBACK'],
      ['said', 'COMMIT'],
    ] as const) {
      await speaker.query('BEGIN')
      await speaker.query(`SELECT pg_notify('news', $1)`, [word])
      await speaker.query(end)
    }
    speaker.release()

    expect(await settle(ear)).toEqual(['said'])
  })

  test('who listens hears its own words too', async () => {
    await using ear = await listener('LISTEN news')

    await ear.client.query(`NOTIFY news, 'echo'`)

    expect(await settle(ear)).toEqual(['echo'])
  })
})
