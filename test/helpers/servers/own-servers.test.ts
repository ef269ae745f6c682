import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { settlesWithin } from '../../../src/queue/unreachable.ts'
import { isFull } from '../tier.ts'
import { ownServer } from './own-servers.ts'
import type { ServerKind } from './servers.ts'

/** As long as a server that is there may take to answer. */
const soonMs = 500

/** What a PostgreSQL keeps is tested in either form, with a kill and a start. */
const kinds: readonly ServerKind[] = isFull ? ['redis', 'postgres'] : ['redis']

function open(kind: ServerKind) {
  return kind === 'redis' ? ownServer('redis') : ownServer('postgres')
}

/** A question that any server of the kind answers, over a connection of its own. */
async function ask(kind: ServerKind, url: string): Promise<unknown> {
  return kind === 'redis' ? await onRedis(url, (client) => client.ping()) : await onPostgres(url, 'select 1')
}

async function onRedis<T>(url: string, command: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    return await command(client)
  } finally {
    client.disconnect()
  }
}

async function onPostgres(url: string, sql: string): Promise<object[]> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

describe.each(kinds)('a %s of its own', (kind) => {
  test('is gone once killed, and back at the same address once started', async () => {
    await using server = await open(kind)
    await ask(kind, server.url)

    await server.kill()
    const gone = await ask(kind, server.url).catch((error: unknown) => error)
    await server.start()

    expect(gone).toBeInstanceOf(Error)
    await expect(ask(kind, server.url)).resolves.toBeDefined()
  })

  test('answers nobody while it is paused, and whoever has asked afterwards', async () => {
    await using server = await open(kind)
    await server.pause()

    const answer = ask(kind, server.url)
    const answeredAtOnce = await settlesWithin(soonMs, answer)
    await server.resume()

    expect(answeredAtOnce).toBe(false)
    await expect(answer).resolves.toBeDefined()
  })

  test('can be left alone killed or paused', async () => {
    const [killed, paused] = [await open(kind), await open(kind)]
    await killed.kill()
    await paused.pause()

    await Promise.all([killed[Symbol.asyncDispose](), paused[Symbol.asyncDispose]()])

    await expect(ask(kind, paused.url)).rejects.toThrow()
  })
})

test('a killed or flushed Redis has forgotten everything', async () => {
  await using server = await ownServer('redis')
  const remember = () => onRedis(server.url, (client) => client.set('job', 'due'))

  await remember()
  await server.kill()
  await server.start()
  const afterKill = await onRedis(server.url, (client) => client.dbsize())
  await remember()
  await server.flush()
  const afterFlush = await onRedis(server.url, (client) => client.dbsize())

  expect({ afterKill, afterFlush }).toEqual({ afterKill: 0, afterFlush: 0 })
})

test('a killed PostgreSQL has kept what was committed', async () => {
  await using server = await ownServer('postgres')
  await onPostgres(server.url, 'create table people as select generate_series(1, 1000) as id')

  await server.kill()
  await server.start()

  expect(await onPostgres(server.url, 'select count(*)::int as people from people')).toEqual([{ people: 1000 }])
})
