import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createPoster } from '../../../src/daemon/alerts/post.ts'
import { Failure } from '../../../src/errors.ts'
import { freePort } from '../../helpers/servers/free-port.ts'
import { alertSecret } from '../../helpers/sources/alert-receiver.ts'
import { serveRaw, serveResponse } from '../../http/raw-server.ts'

/** The time limit for receivers that never answer. Others get more time. */
const impatientMs = 400

function message(url: string, secret = alertSecret) {
  return {
    url,
    secret,
    setting: 'alerts.channels.pager.secret',
    id: 'msg_1',
    body: '{"type":"alert.raised"}',
    now: new Date(),
  }
}

async function post(
  url: string,
  { signal = new AbortController().signal, timeoutMs = 30_000 }: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<string | null> {
  await using poster = createPoster({ timeoutMs })
  return (await poster.post(message(url), signal))?.failure ?? null
}

function endlessly(socket: Socket, piece: string): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', write)
  write()
}

test.each(['200 OK', '201 Created', '202 Accepted', '204 No Content'])(
  'an answer of %s is taken as heard',
  async (status) => {
    await using receiver = await serveResponse(status)

    const failure = await post(receiver.baseUrl)

    expect(failure).toBeNull()
  },
)

test('a message is posted to the whole address, as JSON, on a connection of its own', async () => {
  const requests: string[] = []
  await using receiver = await serveRaw((socket, request) => {
    requests.push(request)
    socket.end('HTTP/1.1 204 No Content\r\n\r\n')
  })

  await post(`${receiver.baseUrl}/hooks/a%20b?team=hr&x=1`)

  expect(requests[0]).toMatch(/^POST \/v1\/hooks\/a%20b\?team=hr&x=1 HTTP\/1\.1\r\n/)
  expect(requests[0]).toMatch(/\r\ncontent-type: application\/json\r\n/i)
  expect(requests[0]).toMatch(/\r\nconnection: close\r\n/i)
  expect(requests[0]).toMatch(/\r\nwebhook-id: msg_1\r\n/)
})

test.each([
  ['301 Moved Permanently', /^redirects \(301\)/],
  ['308 Permanent Redirect', /^redirects \(308\)/],
  ['400 Bad Request', /^answers 400$/],
  ['404 Not Found', /^answers 404$/],
  ['410 Gone', /^answers 410$/],
  ['429 Too Many Requests', /^answers 429$/],
  ['500 Internal Server Error', /^answers 500$/],
])('an answer of %s says why nobody was told', async (status, expected) => {
  await using elsewhere = await serveRaw((socket) => socket.destroy())
  await using receiver = await serveResponse(status, { location: elsewhere.baseUrl })

  const failure = await post(receiver.baseUrl)

  expect(failure).toMatch(expected)
})

test.each<[string, (socket: Socket) => void]>([
  ['says nothing', () => {}],
  ['stops within the headers', (socket) => socket.write('HTTP/1.1 200 OK\r\nx: ')],
])('a receiver that %s is given up in time', async (_what, behave) => {
  await using receiver = await serveRaw(behave)

  const failure = await post(receiver.baseUrl, { timeoutMs: impatientMs })

  expect(failure).toBe('gave no answer within 0.4 seconds')
})

test.each<[string, (socket: Socket) => void, RegExp]>([
  [
    'sends headers without end',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      endlessly(socket, `x-padding: ${'y'.repeat(1000)}\r\n`)
    },
    /^gave no answer \(UND_ERR_HEADERS_OVERFLOW\)$/,
  ],
  ['ends the connection', (socket) => socket.destroy(), /^gave no answer \(\w+\)$/],
  ['does not speak HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), /^gave no answer \(\w+\)$/],
])('a receiver that %s has not taken the message', async (_what, behave, expected) => {
  await using receiver = await serveRaw(behave)

  const failure = await post(receiver.baseUrl)

  expect(failure).toMatch(expected)
})

test.each<[string, (socket: Socket) => void]>([
  [
    'sends a body without end',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      endlessly(socket, 'x'.repeat(65_536))
    },
  ],
  ['promises a body that never comes', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n')],
  ['sends a body that is no gzip', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nxyz')],
])('a receiver that takes the message and %s does no harm', async (_what, behave) => {
  await using receiver = await serveRaw(behave)

  const failure = await post(receiver.baseUrl)

  expect(failure).toBeNull()
})

test("if nobody listens, the reason is the system's error code", async () => {
  const failure = await post(`http://127.0.0.1:${await freePort()}/`)

  expect(failure).toBe('gave no answer (ECONNREFUSED)')
})

test('a process that stops abandons what it posts', async () => {
  await using receiver = await serveRaw(() => {})

  const failure = await post(receiver.baseUrl, { signal: AbortSignal.timeout(50) })

  expect(failure).toBe('this process stopped meanwhile')
})

test.each([
  ['is empty', '', /alerts\.channels\.pager\.secret: .*is empty/],
  ['is no base64', 'whsec_###', /alerts\.channels\.pager\.secret: .*is not base64/],
  [
    'is a public key',
    `whpk_${Buffer.alloc(32, 9).toString('base64')}`,
    /alerts\.channels\.pager\.secret: .*public key/,
  ],
])('a secret that %s is refused by name', async (_what, secret, expected) => {
  await using poster = createPoster({ timeoutMs: impatientMs })

  const failure = await poster
    .post(message('http://127.0.0.1:9/', secret), AbortSignal.timeout(1000))
    .catch((error: unknown) => error)

  expect(failure).toBeInstanceOf(Failure)
  expect(failure).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(expected) })
})
