import { describe, expect, test } from 'vitest'
import { pendingCount, takePending } from '../../../src/store/inbox/inbox.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { secret, serveInbox } from '../../helpers/sources/inbox-server.ts'

const body = JSON.stringify({ employee: { id: 'E1', title: 'Engineer' } })
const now = new Date('2026-11-20T03:00:00.000Z')
const notSigned = { statusCode: 401, message: expect.any(String), code: 14010 }
const runId = '00000000-0000-4000-8000-000000000001'

describe.each(databases)('a webhook on $name', ({ createDatabase }) => {
  test('an event is in the store when it is answered with 200', async () => {
    await using served = await serveInbox({ createDatabase, now: () => now })

    const answer = await served.send(body, { id: 'msg_1' })

    expect(answer).toMatchObject({ status: 200, body: { received: 'msg_1' } })
    const [event] = await takePending(served.store.db, { connection: 'acme', runId, limit: 10 })
    expect(event).toMatchObject({ eventId: 'msg_1', receivedAt: now.toISOString(), signedAt: now.toISOString() })
    expect(Buffer.from(event?.body ?? []).toString()).toBe(body)
    expect(served.loggedEvents).toEqual([{ event: 'webhook.stored', connection: 'acme', stored: 1, duplicates: 0 }])
  })

  test('a repeated event gets the same answer and is not stored twice', async () => {
    await using served = await serveInbox({ createDatabase })
    await served.send(body, { id: 'msg_1' })

    const again = await served.send(body, { id: 'msg_1' })

    expect(again).toMatchObject({ status: 200, body: { received: 'msg_1', duplicate: true } })
    expect(await served.inbox()).toHaveLength(1)
    expect(served.loggedEvents).toEqual([
      { event: 'webhook.stored', connection: 'acme', stored: 1, duplicates: 0 },
      { event: 'webhook.stored', connection: 'acme', stored: 0, duplicates: 1 },
    ])
  })

  test('of many simultaneous events none is lost and none is stored twice', async () => {
    await using served = await serveInbox({ createDatabase })
    const ids = Array.from({ length: 300 }, (_, index) => `msg_${index % 150}`)

    const answers = await Promise.all(
      ids.map((id, index) => served.send(body, { id, to: index < 20 ? 'beta' : 'acme' })),
    )

    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    const stored = await served.inbox()
    expect(new Set(stored.map(({ connection, eventId }) => `${connection} ${eventId}`)).size).toBe(170)
    expect(stored).toHaveLength(170)
    expect(answers.filter((answer) => !answer.body.duplicate)).toHaveLength(170)
  })
})

describe('who is let in', () => {
  test.each([
    ['is not signed', {}],
    ['is signed with another secret', { 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` }],
    ['says an id that was not signed', { 'webhook-id': 'msg_2' }],
    ['says a time that was not signed', { 'webhook-timestamp': '1763600400' }],
  ])('a request that %s gets the one refusal, and nothing is stored', async (_, headers) => {
    await using served = await serveInbox({ now: () => now })
    const sent = Object.keys(headers).length === 0 ? {} : { ...served.signed(body, { id: 'msg_1' }), ...headers }

    const answer = await served.post('/webhooks/acme', body, sent)

    expect(answer).toMatchObject({ status: 401, body: notSigned })
    expect(await served.inbox()).toEqual([])
    const line = { event: 'webhook.refused', connection: 'acme', sender: '127.0.0.1', times: 1 }
    expect(served.loggedEvents).toEqual([{ ...line, reason: expect.any(String) }])
  })

  test.each([
    ['too long ago', new Date(now.getTime() - 301_000)],
    ['by a clock that is ahead', new Date(now.getTime() + 301_000)],
  ])('what was signed %s is refused in the same words as what is not signed at all', async (_, at) => {
    await using served = await serveInbox({ now: () => now })

    const late = await served.send(body, { at })
    const unsigned = await served.post('/webhooks/acme', body, {})

    expect(late.status).toBe(401)
    expect(late.body).toEqual(unsigned.body)
  })

  test('a body that was changed in transit is refused', async () => {
    await using served = await serveInbox()

    const answer = await served.post('/webhooks/acme', body.replace('E1', 'E2'), served.signed(body))

    expect(answer.status).toBe(401)
    expect(await served.inbox()).toEqual([])
  })

  test('an unknown name is not found, signed or not', async () => {
    await using served = await serveInbox()

    const answers = [await served.send(body, { to: 'gamma' }), await served.post('/webhooks/gamma', body, {})]

    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 404, body: { statusCode: 404, code: 14040, name: 'NotFound' } })
    }
    expect(JSON.stringify(served.loggedEvents)).not.toContain('gamma')
  })

  test('a secret that was replaced is used within a second', async () => {
    const replaced = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
    const secrets = { now: [secret] }
    await using served = await serveInbox({ secrets: async () => secrets.now })
    await served.send(body)
    secrets.now = [replaced]

    await expect.poll(async () => (await served.send(body)).status, { timeout: 3000 }).toBe(401)
    const answer = await served.send(body, { key: replaced })

    expect(answer.status).toBe(200)
  })

  test('a secret that cannot be read is our failure: the sender is asked to try again', async () => {
    await using served = await serveInbox({ secrets: () => Promise.reject(new Error('EACCES')) })

    const answer = await served.send(body)

    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(served.loggedEvents).toMatchObject([{ event: 'unexpected' }])
  })
})

describe('what is sent', () => {
  test.each([
    ['no content type', {}],
    ['a content type of its own', { 'content-type': 'application/vnd.hr+json' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a malformed content type', { 'content-type': ';;;' }],
    ['plain text', { 'content-type': 'text/plain; charset=latin1' }],
  ])('with %s the bytes arrive as they were sent', async (_, headers) => {
    await using served = await serveInbox()
    const text = `{ "name" : "Zoë\\u0041" }\r\n`

    const answer = await served.send(text, { headers })

    expect(answer.status).toBe(200)
    const [event] = await takePending(served.store.db, { connection: 'acme', runId, limit: 10 })
    expect(Buffer.from(event?.body ?? []).toString()).toBe(text)
  })

  test.each([
    ['no JSON', 'name=Ana'],
    ['nothing', ''],
    ['bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['JSON of a thousand levels', '['.repeat(1000) + ']'.repeat(1000)],
  ])('a signed body of %s is refused without being repeated', async (_, sent) => {
    await using served = await serveInbox()

    const answer = await served.send(sent)

    expect(answer).toMatchObject({ status: 400, body: { name: 'MalformedBody' } })
    expect(JSON.stringify([answer.body, served.loggedEvents])).not.toContain('Ana')
    expect(await served.inbox()).toEqual([])
  })

  test('a body that is neither JSON nor signed is refused for the signature', async () => {
    await using served = await serveInbox()

    const answer = await served.post('/webhooks/acme', 'name=Ana', {})

    expect(answer.status).toBe(401)
  })

  test('a sample is kept without its body and for no run', async () => {
    await using served = await serveInbox()

    const answer = await served.send(JSON.stringify({ type: 'rollcall.test', id: 'x' }))

    expect(answer.status).toBe(200)
    expect(await served.inbox()).toMatchObject([{ state: 'test', bytes: 0 }])
    expect(await pendingCount(served.store.db, 'acme')).toBe(0)
  })

  test("a sender's test of the address is answered and not stored", async () => {
    const settings = { recipe: 'hibob', secrets: ['bob'] }
    await using served = await serveInbox({ settings, secrets: async () => ['bob'] })

    const answers = [
      await served.send('Ping test', { key: 'bob' }),
      await served.send('{"text":"Ping test"}', { key: 'bob' }),
    ]

    expect(answers).toMatchObject([{ status: 200 }, { status: 200 }])
    expect(await served.inbox()).toEqual([])
  })

  test('without an id from the sender, equal bodies are one event', async () => {
    await using served = await serveInbox({ settings: { recipe: 'github' }, secrets: async () => ['hub'] })

    const answers = [
      await served.send(body, { key: 'hub' }),
      await served.send(body, { key: 'hub' }),
      await served.send(`${body} `, { key: 'hub' }),
    ]

    expect(answers.map(({ body: { duplicate } }) => duplicate)).toEqual([undefined, true, undefined])
    expect(await served.inbox()).toMatchObject([{ eventId: null }, { eventId: null }])
  })

  test('a notice without an id is stored each time, because a run may have handled an equal one long ago', async () => {
    await using served = await serveInbox({
      settings: { recipe: 'github', thin: true },
      secrets: async () => ['hub'],
    })

    const answers = [await served.send(body, { key: 'hub' }), await served.send(body, { key: 'hub' })]

    expect(answers.map(({ body: { duplicate } }) => duplicate)).toEqual([undefined, undefined])
    expect(await served.inbox()).toMatchObject([{ state: 'pending' }, { state: 'pending' }])
  })

  test('an id that no database can store still distinguishes events', async () => {
    await using served = await serveInbox({ settings: { id: '/id' } })

    const answers = [
      await served.send('{"id":"a\\u0000b"}'),
      await served.send('{"id":"a\\u0000b"}'),
      await served.send('{"id":"\\ud800"}'),
    ]

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await served.inbox()).toMatchObject([{ eventId: null }, { eventId: null }])
  })
})

test('the rest of the server still accepts JSON only', async () => {
  await using served = await serveInbox()

  const answer = await served.post('/webhooks', body, { 'content-type': 'text/plain' })

  expect(answer).toMatchObject({ status: 404, body: { name: 'UnknownPath' } })
})
