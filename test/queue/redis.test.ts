import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { openRedisBackend } from '../../src/queue/redis-backend.ts'
import { type Event, silentEvents } from '../../src/telemetry/events.ts'
import { installServer, startBinary } from '../helpers/servers/binaries.ts'
import { startContainer } from '../helpers/servers/containers.ts'
import { redisUrl } from '../helpers/servers/provided.ts'
import type { Server } from '../helpers/servers/servers.ts'
import { firstOf } from '../helpers/tier.ts'
import { openLink, openSilence } from './link.ts'
import { startQueue } from './queues.ts'
import { upsert, workers } from './samples.ts'

function openAt(url: string, onEvent?: (event: Event) => void) {
  return openQueue({ backend: { kind: 'redis', url }, name: 'own', events: silentEvents(onEvent) })
}

/** A Redis that this test may set as it likes, which a shared or a given one is not for. */
async function ownRedis(
  settings: Readonly<Record<string, string>>,
  prepare: (client: Redis) => Promise<unknown> = async () => {},
): Promise<Server> {
  const reasons: string[] = []
  for (const start of [startContainer, startBinary, installed]) {
    const server = await start('redis')
    if (typeof server === 'string') {
      reasons.push(server)
      continue
    }
    const client = new Redis(server.url)
    for (const [name, value] of Object.entries(settings)) await client.config('SET', name, value)
    await prepare(client)
    client.disconnect()
    return server
  }
  throw new Error(`these tests need a Redis of their own: ${reasons.join('; ')}`)
}

function guestWithout(command: string) {
  return (client: Redis) => client.acl('SETUSER', 'guest', 'on', '>guest', '~*', '&*', '+@all', `-${command}`)
}

function asGuest({ url }: Server): string {
  return Object.assign(new URL(url), { username: 'guest', password: 'guest' }).href
}

async function installed(): Promise<Server | string> {
  return (await installServer('redis')) ?? (await startBinary('redis'))
}

describe('at start', () => {
  test('a Redis that evicts keys is refused with advice', async () => {
    await using server = await ownRedis({ 'maxmemory-policy': 'allkeys-lru' })
    const { host } = new URL(server.url)

    const opened = openAt(server.url)

    await expect(opened).rejects.toMatchObject({
      code: 'config_invalid',
      message: `Redis at ${host} evicts keys (maxmemory-policy allkeys-lru): set noeviction`,
    })
  })

  test('a Redis without an append-only file is warned about', async () => {
    const messages: string[] = []
    await using server = await ownRedis({ appendonly: 'no' })

    await using _queue = await openAt(server.url, ({ event }) => messages.push(event))

    expect(messages).toEqual(['queue.append_only_off'])
  })

  test('a Redis with an append-only file is not', { tags: ['full'] }, async () => {
    const messages: string[] = []
    await using server = await ownRedis({ appendonly: 'yes' })

    await using _queue = await openAt(server.url, ({ event }) => messages.push(event))

    expect(messages).toEqual([])
  })

  test('a Redis without CONFIG is accepted', async () => {
    await using server = await ownRedis({ 'maxmemory-policy': 'volatile-ttl' }, guestWithout('config'))

    const opened = openAt(asGuest(server))

    await expect(opened).rejects.toMatchObject({ message: expect.stringContaining('maxmemory-policy volatile-ttl') })
  })

  test('a Redis without INFO is refused with advice', async () => {
    await using server = await ownRedis({}, guestWithout('info'))
    const { host } = new URL(server.url)

    const opened = openAt(asGuest(server))

    await expect(opened).rejects.toMatchObject({
      code: 'config_invalid',
      message: `Redis at ${host} does not let this user run INFO: allow it`,
    })
  })

  test.each(firstOf(1, [':wrong-secret@', '', 'nobody:wrong-secret@']))(
    'a Redis that refuses the credentials %j is a mistake of the configuration, told without them',
    async (who) => {
      await using server = await ownRedis({ requirepass: 'right-secret' })
      const { host } = new URL(server.url)

      const failure = await openAt(`redis://${who}${host}`).catch((error: unknown) => error)

      expect(failure).toMatchObject({ code: 'config_invalid' })
      expect(inspect(failure, { depth: 10 })).not.toContain('secret')
    },
  )

  test('the right password works, and the location does not contain it', async () => {
    await using server = await ownRedis({ requirepass: 'right-secret' })
    const { host } = new URL(server.url)

    await using queue = await openAt(`redis://:right-secret@${host}`)

    expect(queue.location).toBe(`Redis at ${host}`)
  })

  test('an address where nobody listens is unreachable', async () => {
    const link = await openLink(await redisUrl())
    await link.cut()

    const opened = openAt(link.url)

    await expect(opened).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringContaining('(ECONNREFUSED)'),
    })
  })

  test('a host that does not exist is unreachable', async () => {
    const opened = openAt('redis://queue.invalid:6379')

    await expect(opened).rejects.toMatchObject({ code: 'queue_unreachable' })
  })

  test('a server that never answers is unreachable', async () => {
    await using silence = await openSilence()

    const opened = openAt(`redis://127.0.0.1:${silence.port}`)

    await expect(opened).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: `Redis at 127.0.0.1:${silence.port} does not answer: check its address and that it runs`,
    })
  })

  test.each(['', 'localhost:6379', 'postgres://me:secret@localhost', 'redis://'])(
    'the address %j is refused without being repeated',
    async (url) => {
      const opened = openAt(url)

      await expect(opened).rejects.toMatchObject({
        code: 'config_invalid',
        message: 'The address of the queue is not one of Redis: write redis://host:port',
      })
    },
  )
})

test('Redis stores only the code of a failure', async () => {
  const failed = Promise.withResolvers<void>()
  const url = await redisUrl()
  // A server of yours may remember the job of an earlier run.
  const name = randomUUID()
  await using queue = await startQueue(
    { backend: { kind: 'redis', url } },
    {
      name,
      retry: { firstSeconds: 3600, maxSeconds: 3600 },
      events: silentEvents(({ event }) => {
        if (event === 'job.failed') failed.resolve()
      }),
    },
  )
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

  const client = new Redis(url)
  const kept = JSON.stringify(await client.hgetall(`rollcall:${name}:upsert-1`))
  client.disconnect()
  expect(kept).toContain('platform_unreachable')
  expect(kept).not.toMatch(/Ana|at .*\.ts/)
})

describe('while Redis is away', () => {
  test('enqueueing and checking fail instead of waiting', async () => {
    await using link = await openLink(await redisUrl())
    await using queue = await startQueue({ backend: { kind: 'redis', url: link.url } })

    await link.cut()

    await expect(queue.check()).rejects.toMatchObject({ code: 'queue_unreachable' })
    await expect(queue.enqueue([upsert(1)])).rejects.toMatchObject({ code: 'queue_unreachable' })
  })

  test('the outage is reported once, and work continues afterwards', async () => {
    const messages: string[] = []
    const isBack = Promise.withResolvers<void>()
    await using link = await openLink(await redisUrl())
    await using queue = await startQueue(
      { backend: { kind: 'redis', url: link.url } },
      {
        events: silentEvents(({ event }) => {
          if (event.startsWith('queue.') || event === 'unexpected') messages.push(event)
          if (event === 'queue.reachable') isBack.resolve()
        }),
      },
    )
    const batches: number[] = []
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const noting = workers({
      async upsert({ batch }) {
        batches.push(batch)
        if (batch === 1) first.resolve()
        else second.resolve()
      },
    })
    await using _working = await queue.work(noting, { concurrency: 2 })
    await queue.enqueue([upsert(1)])
    await first.promise

    await link.cut()
    await expect(queue.check()).rejects.toMatchObject({ code: 'queue_unreachable' })
    await link.mend()
    await isBack.promise
    await queue.enqueue([upsert(2)])
    await second.promise

    expect(batches).toEqual([1, 2])
    expect(messages.filter((event) => event !== 'queue.append_only_off')).toEqual([
      'queue.unreachable',
      'queue.reachable',
    ])
  })

  test('a worker can be stopped with a job in flight', async () => {
    await using link = await openLink(await redisUrl())
    await using queue = await startQueue({ backend: { kind: 'redis', url: link.url } })
    const begun = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    await using working = await queue.work(
      workers({
        async upsert(_payload, signal) {
          begun.resolve()
          signal.addEventListener('abort', () => aborted.resolve())
          await aborted.promise
        },
      }),
      { concurrency: 1 },
    )
    await queue.enqueue([upsert(1)])
    await begun.promise
    await link.cut()

    await working.stop({ withinMs: 10 })

    await expect(aborted.promise).resolves.toBeUndefined()
  })

  test('an idle worker stops without waiting for its bound', { tags: ['full'] }, async () => {
    await using link = await openLink(await redisUrl())
    await using queue = await startQueue({ backend: { kind: 'redis', url: link.url } })
    await using working = await queue.work(workers({}), { concurrency: 1 })
    await link.cut()

    const stopped = working.stop({ withinMs: 3_600_000 })

    await expect(stopped).resolves.toBeUndefined()
  })
})

describe('a Redis that answers and takes no jobs', () => {
  async function settingsOf({ url }: Server, ...settings: readonly (readonly [string, string])[]): Promise<void> {
    const client = new Redis(url)
    for (const [name, value] of settings) await client.config('SET', name, value)
    client.disconnect()
  }

  test('fails the check while it is full, and no longer', async () => {
    await using server = await ownRedis({})
    await using queue = await openAt(server.url)
    await queue.check()

    await settingsOf(server, ['maxmemory', '1mb'])
    const full = queue.check()
    await expect(full).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringMatching(/ is full: give it more memory or disk, or find what else fills it$/),
    })
    await settingsOf(server, ['maxmemory', '0'])

    await expect(queue.check()).resolves.toBeUndefined()
  })

  test('fails the check while it is a replica, and no longer', async () => {
    await using server = await ownRedis({})
    await using queue = await openAt(server.url)
    const client = new Redis(server.url)

    await client.replicaof('127.0.0.1', 1)
    const readOnly = queue.check()
    await expect(readOnly).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringMatching(/ takes no writes, as a replica does: name the primary server$/),
    })
    await client.replicaof('no', 'one')
    client.disconnect()

    await expect(queue.check()).resolves.toBeUndefined()
  })
})

test('a connection whose server is gone behind an open socket is replaced', async () => {
  await using link = await openLink(await redisUrl())
  await using backend = await openRedisBackend(link.url, silentEvents(), { socketTimeout: 300 })
  const probe = () =>
    backend.probe().then(
      () => 'fine',
      () => 'away',
    )
  const before = await probe()

  link.freeze()

  expect(before).toBe('fine')
  await expect.poll(probe, { timeout: 30_000 }).toBe('fine')
})
