import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { type EmptyDaemon, exportOf, openEmptyDaemon } from '../../helpers/first-visit.ts'
import { type Host, startHost } from '../../helpers/world.ts'

const mebibyte = 1024 * 1024

let host: Host
let tenant: Awaited<ReturnType<Host['tenant']>>
let empty: EmptyDaemon

beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  empty = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
})
afterAll(async () => {
  await empty[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** Uploads until there is an answer. */
async function sendEndlessly({ url, adminToken }: EmptyDaemon) {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/octet-stream' }
  const sending = request(`${url}/api/v1/first-visit/exports?name=people.csv`, { method: 'POST', headers })
  let sentBytes = 0
  async function* spaces() {
    for (;;) {
      yield Buffer.alloc(64 * 1024, ' ')
      sentBytes += 64 * 1024
    }
  }
  // The request fails when the connection ends, as intended.
  const pumping = pipeline(spaces, sending).catch(() => {})
  try {
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    const { message } = (await json(answer)) as { message: string }
    return { status: answer.statusCode, message, sentBytes }
  } finally {
    sending.destroy()
    await pumping
  }
}

describe('nothing is kept of', () => {
  test('a stream that never ends, once the limit is passed', async () => {
    const { status, message, sentBytes } = await sendEndlessly(empty)

    expect([status, message]).toEqual([413, expect.stringMatching(/^the export is larger than 1 MiB/)])
    expect(sentBytes).toBeLessThan(128 * mebibyte)
    expect(await empty.uploads()).toEqual([])
  })

  test('an upload whose connection ends in the middle', async () => {
    const { port } = new URL(empty.url)
    const socket = connectTcp(Number(port), '127.0.0.1')
    socket.write(
      `POST /api/v1/first-visit/exports?name=people.csv HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${empty.adminToken}\r\ncontent-type: application/octet-stream\r\ncontent-length: 100000\r\n\r\n${exportOf(20)}`,
    )
    await expect.poll(empty.uploads).toHaveLength(1)

    socket.destroy()

    await expect.poll(empty.uploads).toEqual([])
  })

  test('another content type', async () => {
    const asJson = await empty.post('/first-visit/exports?name=people.csv', {})

    expect(asJson).toMatchObject({
      status: 415,
      body: { message: 'the body must be sent as application/octet-stream' },
    })
    expect(await empty.uploads()).toEqual([])
  })

  test('all that in the store or in the configuration', async () => {
    const status = (await (await empty.api('/status')).json()) as { connections: unknown[] }

    expect([status.connections, await empty.config(), empty.reloadRequests]).toEqual([[], empty.text, []])
  })
})

describe('a visit', () => {
  const settings = { name: 'HR', folder: 'exports', timeZone: 'UTC' }

  test('sees only its own export, which another upload replaces, and shares the daemon with few other visits', async () => {
    const [ana, ben] = [await empty.newToken('ana', 'admin'), await empty.newToken('ben', 'admin')]
    const first = await empty.upload('people.csv', exportOf(2), ana)

    const byBen = await empty.post(`/first-visit/exports/${first}/reading`, {}, ben)
    const second = await empty.upload('people.csv', exportOf(3), ana)
    const former = await empty.post(`/first-visit/exports/${first}/reading`, {}, ana)
    for (const name of ['cleo', 'dara', 'elif'])
      await empty.upload('people.csv', exportOf(2), await empty.newToken(name, 'admin'))
    const visitor = await empty.visitor(ben)
    const tooMany = await visitor.give('people.csv', exportOf(2))
    await empty.api(`/first-visit/exports/${second}`, { method: 'DELETE' }, ana)
    const then = await visitor.give('people.csv', exportOf(2))

    expect([byBen.status, former.status, tooMany.status, then.status]).toEqual([404, 404, 429, 303])
    expect(tooMany.notice).toBe('Several exports are being looked at already: try again when they are done with.')
  })

  test('loses its export after a while', async () => {
    await using own = await openEmptyDaemon({ limits: { maxBytes: mebibyte, maxUploads: 4, maxIdleMs: 300 } })
    await own.upload('people.csv', exportOf(2))

    await expect.poll(own.uploads).toEqual([])
  })

  test('writes nothing if the configuration was edited meanwhile, a key is wrong, or another visit was first', async () => {
    await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
    const ben = await own.newToken('ben', 'admin')
    const [mine, his] = [await own.upload('people.csv', exportOf(2)), await own.upload('people.csv', exportOf(2), ben)]
    const body = { reading: {}, ...settings }
    const plan = async (id: string, token?: string) =>
      (await own.post(`/first-visit/exports/${id}/plan`, body, token)).body.digest as string
    const connect = (id: string, more: object, token?: string) =>
      own.post(`/first-visit/exports/${id}/connection`, { ...body, ...more }, token)
    const [former, hisDigest] = [await plan(mine), await plan(his, ben)]
    await writeFile(own.file, `${own.text}# edited\n`)

    const edited = await connect(mine, { digest: former, apiKey: tenant.key })
    const digest = await plan(mine)
    const without = await connect(mine, { digest })
    const wrong = await connect(mine, { digest, apiKey: 'no key at all' })
    const untouched = [await own.config(), own.reloadRequests.length]
    const done = await connect(mine, { digest, apiKey: tenant.key })
    const second = await connect(his, { digest: hisDigest }, ben)
    const trail = (await (await own.api('/audit/entries?act=config.connected')).json()) as { data: unknown[] }

    expect([edited.status, without.status, wrong.status]).toEqual([409, 422, 409])
    expect(edited.body.message).toContain('has changed since you looked at it')
    expect(without.body.message).toContain('platform.key')
    expect(untouched).toEqual([`${own.text}# edited\n`, 0])
    expect(done).toMatchObject({ status: 201, body: { connection: 'hr', isTakenUp: true } })
    expect(second).toMatchObject({ status: 409, body: { message: expect.stringContaining('has a connection by now') } })
    expect((await own.config()).match(/^connections:/gm)).toHaveLength(1)
    expect(trail.data).toEqual([
      expect.objectContaining({
        by: 'server.token',
        connection: 'hr',
        details: expect.objectContaining({ file: own.file }),
      }),
    ])
  })

  test('whose record cannot be committed leaves the configuration as it was, and no key', async () => {
    await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
    await using store = await openDatabase({
      at: await readFile(join(own.folder, 'database'), 'utf8'),
      schemas: ['rollcall'],
      migrations,
    })
    await store.pool.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no commit'; end $$`)
    await store.pool.query(`
      create constraint trigger refuses after insert on audit_pending deferrable initially deferred
      for each row execute function refuse()`)
    const id = await own.upload('people.csv', exportOf(2))
    const body = { reading: {}, ...settings }
    const { digest } = (await own.post(`/first-visit/exports/${id}/plan`, body)).body
    const connect = () =>
      own
        .post(`/first-visit/exports/${id}/connection`, { ...body, digest, apiKey: tenant.key })
        .then(({ status }) => status)

    const failed = await connect()
    const remaining = [await own.config(), await readdir(own.folder)]
    await store.pool.query('drop trigger refuses on audit_pending')
    const again = await connect()

    expect([failed, again]).toEqual([500, 201])
    expect(remaining).toEqual([own.text, expect.not.arrayContaining(['platform.key', 'exports'])])
  })
})
