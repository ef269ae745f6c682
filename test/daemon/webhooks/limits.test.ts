import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Agent } from 'undici'
import { describe, expect, test } from 'vitest'
import type { Pool } from '../../../src/database/pool.ts'
import { pendingCount } from '../../../src/store/inbox/inbox.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { serveInbox } from '../../helpers/sources/inbox-server.ts'
import { isFull } from '../../helpers/tier.ts'

const floodSize = isFull ? 30_000 : 2000
const body = JSON.stringify({ employee: { id: 'E1' } })

/** Opens a request whose body never ends. */
async function beginRequest(url: string, { length = 100, begun = '' } = {}): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(`POST /webhooks/acme HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n${begun}`)
  return socket
}

async function answerOf(socket: Socket): Promise<string> {
  return Buffer.concat(await Array.fromAsync(socket)).toString()
}

describe('bodies', () => {
  test('a body at the limit is accepted, and one byte more is refused', async () => {
    await using served = await serveInbox({ settings: { bodyLimitBytes: 2048 } })
    const atLimit = JSON.stringify('x'.repeat(2046))

    const answers = [await served.send(atLimit), await served.send(`${atLimit} `), await served.send(atLimit)]

    expect(answers.map(({ status }) => status)).toEqual([200, 413, 200])
    expect(answers[1]?.body).toMatchObject({ statusCode: 413, code: 14130, name: 'TooLarge' })
  })

  test('a body without a stated length is refused as soon as it is too large', async () => {
    await using served = await serveInbox({ settings: { bodyLimitBytes: 1024 } })
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 1
        controller.enqueue(Buffer.alloc(64 * 1024, 0x20))
      },
    })
    const init = { method: 'POST', body: endless, duplex: 'half', headers: served.signed(body) } as const

    const answer = await fetch(`${served.url}/webhooks/acme`, init).then(
      ({ status }) => status,
      () => 'connection ended',
    )

    // The connection may end before the client has read the answer.
    expect([413, 'connection ended']).toContain(answer)
    expect(pulled).toBeLessThan(1000)
    expect((await served.send(body)).status).toBe(200)
  })

  test('many slow senders delay nobody else, and are refused', async () => {
    await using served = await serveInbox({ limits: { arrivalMs: 400 } })
    const sockets = await Promise.all(Array.from({ length: 100 }, () => beginRequest(served.url, { begun: '{"a' })))
    const away = Promise.all(sockets.map(answerOf))

    const meanwhile = await served.send(body)
    const answers = await away

    expect(meanwhile.status).toBe(200)
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /)
      expect(answer).toContain('"TooSlow"')
    }
    expect(await served.inbox()).toHaveLength(1)
  })
})

describe('a full inbox', () => {
  test('makes the sender try again later, and accepts events again once there is room', async () => {
    await using served = await serveInbox({ settings: { inboxLimit: 3 } })
    for (const id of ['1', '2', '3']) await served.send(body, { id })

    const full = await served.send(body, { id: '4' })
    await served.store.pool.query("update inbox set state = 'settled'")

    expect(full).toMatchObject({ status: 429, body: { statusCode: 429, code: 14290 } })
    expect(full.headers.get('retry-after')).toBe('60')
    await expect.poll(async () => (await served.send(body, { id: '4' })).status, { timeout: 5000 }).toBe(200)
    expect(served.loggedEvents).toContainEqual({
      event: 'webhook.refused',
      connection: 'acme',
      reason: 'the inbox is full',
      sender: '127.0.0.1',
      times: 1,
    })
  })

  test('is full also if everything arrives at once, and only for its own connection', async () => {
    await using served = await serveInbox({ settings: { inboxLimit: 10 } })

    const answers = await Promise.all(Array.from({ length: 60 }, (_, id) => served.send(body, { id: `${id}` })))

    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(50)
    expect(await pendingCount(served.store.db, 'acme')).toBe(10)
    expect((await served.send(body, { to: 'beta' })).status).toBe(200)
  })

  test('repetitions take no room', async () => {
    await using served = await serveInbox({ settings: { inboxLimit: 2 } })

    const answers = [1, 2, 3, 4].map(() => served.send(body, { id: 'same' }))
    const first = await Promise.all(answers)
    const second = await served.send(body, { id: 'other' })

    expect(first.map(({ status }) => status)).toContain(200)
    expect(second.status).toBe(200)
  })
})

describe('a store in trouble', () => {
  test('an event that the store does not accept in time is refused, and is accepted when it is sent again', async () => {
    await using served = await serveInbox({ createDatabase: createPostgresDatabase, limits: { patienceMs: 2000 } })
    const lock = await lockInbox(served.store.pool)
    const late = { event: 'webhook.failed', connection: 'acme', reason: expect.any(String) }

    const silent = await Promise.all([served.send(body, { id: '1' }), served.send(body, { id: '2', to: 'beta' })])
    // Senders get their answer a few milliseconds before the outcome of their batch is known.
    await expect.poll(() => served.loggedEvents).toContainEqual(late)
    await lock.release()
    const again = await Promise.all([served.send(body, { id: '1' }), served.send(body, { id: '2', to: 'beta' })])

    expect(silent.map(({ status }) => status)).toEqual([503, 503])
    expect(silent[0]?.headers.get('retry-after')).toBe('5')
    expect(silent[0]?.body).toMatchObject({ statusCode: 503, name: 'Unavailable' })
    expect(again.map(({ status }) => status)).toEqual([200, 200])
    expect(await served.inbox()).toHaveLength(2)
  })

  test('events are refused while the store cannot be reached', async () => {
    await using served = await serveInbox()
    await served.store.pool.query('alter table inbox rename to elsewhere')

    const away = await served.send(body, { id: '1' })
    await served.store.pool.query('alter table elsewhere rename to inbox')
    const back = await served.send(body, { id: '1' })

    expect([away.status, back.status]).toEqual([503, 200])
    expect(back.body).toEqual({ received: '1' })
    expect(JSON.stringify(served.loggedEvents)).not.toContain('E1')
  })
})

test('closing waits until events under way are stored and answered', async () => {
  await using served = await serveInbox({ createDatabase: createPostgresDatabase })
  const lock = await lockInbox(served.store.pool)
  const sent = Promise.all(['1', '2', '3'].map((id) => served.send(body, { id })))
  await lock.waitedFor()

  const closing = served.app.close()
  await lock.release()
  const answers = await sent
  await closing

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await served.inbox()).toHaveLength(3)
})

/** Locks the table for everybody until it is released. */
async function lockInbox(pool: Pool) {
  const client = await pool.connect()
  await client.query('begin; lock table rollcall.inbox in access exclusive mode')
  return {
    /** Resolves when a statement waits for the lock. */
    async waitedFor() {
      const waiting =
        "select count(*)::int as count from pg_locks where not granted and relation = 'rollcall.inbox'::regclass"
      await expect.poll(async () => (await client.query(waiting)).rows[0].count, { timeout: 5000 }).toBeGreaterThan(0)
    },
    async release() {
      await client.query('commit')
      client.release()
    },
  }
}

test(`${floodSize} unsigned requests make four log lines, and the sender who signs is served`, async () => {
  const lines: unknown[] = []
  {
    await using served = await serveInbox({ createDatabase: createPostgresDatabase })
    const agent = new Agent({ connections: 16, pipelining: 32 })
    const path = ['/webhooks/acme', '/webhooks/nowhere']
    const flood = Array.from({ length: floodSize }, async (_, index) => {
      const answer = await agent.request({ origin: served.url, path: path[index % 2] ?? '', method: 'POST', body })
      await answer.body.dump()
      return answer.statusCode
    })

    const statuses = new Set(await Promise.all(flood))
    const answer = await served.send(body)
    await agent.close()
    lines.push(served.loggedEvents)

    expect(statuses).toEqual(new Set([401, 404]))
    expect(answer.status).toBe(200)
  }
  const refusals = (lines.flat() as { event: string; times?: number }[]).filter(
    ({ event }) => event === 'webhook.refused',
  )
  expect(refusals).toHaveLength(4)
  expect(refusals.reduce((sum, { times = 0 }) => sum + times, 0)).toBe(floodSize)
})
