import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { alertLinks } from '../../../src/daemon/alerts/links.ts'
import { postingSender } from '../../../src/daemon/alerts/posting.ts'
import { slackMessage } from '../../../src/daemon/alerts/slack.ts'
import { noticeText } from '../../../src/daemon/alerts/text.ts'
import type { ChatOrIncidentChannel } from '../../../src/daemon/config/channel.ts'
import { secretText, slackChannel } from '../../helpers/alert-settings.ts'
import { raised } from '../../helpers/notices.ts'
import { freePort } from '../../helpers/servers/free-port.ts'
import { serveRaw } from '../../http/raw-server.ts'

type Options = Partial<ChatOrIncidentChannel> & {
  timeoutMs?: number
  signal?: AbortSignal
  resolve?: Parameters<typeof postingSender>[1]['resolve']
}

async function send(url: string, { timeoutMs = 30_000, signal, resolve, ...settings }: Options = {}) {
  const options = { name: 'chat', linkOf: () => null, timeoutMs, ...(resolve && { resolve }) }
  await using sender = postingSender(slackChannel(url, settings), options)
  return await sender.send(raised(), signal ?? new AbortController().signal)
}

/** A chat that gives the answers of the test, and stores what it received. */
async function startChat(answer: (response: ServerResponse, request: IncomingMessage) => void) {
  const received: unknown[] = []
  const server = createServer((request, response) => {
    response.on('error', () => {})
    buffer(request).then(
      (body) => {
        received.push(JSON.parse(body.toString('utf8')))
        answer(response, request)
      },
      () => {},
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/services/T0/B0/sesame`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const responds =
  (status: number, body = '', headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse) =>
    response.writeHead(status, headers).end(body)

test('a chat gets one message, as text and as blocks', async () => {
  await using chat = await startChat(responds(200, 'ok'))

  const unsent = await send(chat.url)

  expect(unsent).toBeNull()
  expect(chat.received).toMatchObject([
    {
      text: expect.stringContaining('[Rollcall] acme: a plan waits for an approval\nSince'),
      blocks: [{ type: 'section', text: { type: 'plain_text' } }],
    },
  ])
})

describe('what an answer means', () => {
  test.each([
    [200, 'ok', null],
    [204, '', null],
    [200, '<html>no error name</html>', null],
    [200, '{"ok":false,"error":"channel_not_found"}', 'refuses the message (channel_not_found)'],
    [200, 'no_service', 'refuses the message (no_service)'],
    [400, 'invalid_payload', 'answers 400 (invalid_payload)'],
    [403, 'invalid_token\n', 'answers 403 (invalid_token)'],
    [404, 'channel_not_found', 'answers 404 (channel_not_found)'],
    [500, 'Ana Silva <ana@acme.example>', 'answers 500'],
  ])('%i with the body %j', async (status, body, expected) => {
    await using chat = await startChat(responds(status, body))

    const unsent = await send(chat.url)

    expect(unsent?.failure ?? null).toBe(expected && `${chat.host} ${expected}`)
  })

  test('an endless text is not taken for an error name', async () => {
    await using chat = await startChat(responds(500, 'x'.repeat(5000)))

    expect(await send(chat.url)).toMatchObject({ failure: `${chat.host} answers 500` })
  })

  test('a chat that has had too many messages says how long to wait', async () => {
    await using chat = await startChat(responds(429, 'rate_limited', { 'retry-after': '30' }))

    const unsent = await send(chat.url)

    expect(unsent).toEqual({
      failure: `${chat.host} answers 429 (rate_limited), and asks to wait 30 s`,
      retryAfterMs: 30_000,
    })
  })

  test('a redirect is not followed, and its target not shown', async () => {
    await using elsewhere = await startChat(responds(200, 'ok'))
    await using chat = await startChat(responds(302, '', { location: elsewhere.url }))

    const unsent = await send(chat.url)

    expect(unsent?.failure).toBe(`${chat.host} redirects (302), which is not followed: check the address`)
    expect([chat.received.length, elsewhere.received.length]).toEqual([1, 0])
  })

  test('an answer without end does no harm', async () => {
    await using chat = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const write = () => {
        while (!socket.destroyed && socket.write('x'.repeat(65_536)));
      }
      socket.on('drain', write)
      write()
    })

    expect(await send(`${chat.baseUrl}/sesame`)).toBeNull()
  })
})

describe('a chat that cannot be reached', () => {
  test('is named by its host only', async () => {
    const port = await freePort()

    const unsent = await send(`http://127.0.0.1:${port}/services/sesame`)

    expect(unsent).toEqual({ failure: `127.0.0.1:${port} gave no answer (ECONNREFUSED)` })
  })

  test('because it is silent is given up in time', async () => {
    await using chat = await serveRaw(() => {})

    const unsent = await send(`${chat.baseUrl}/sesame`, { timeoutMs: 300 })

    expect(unsent?.failure).toBe(`${chat.host} gave no answer within 0.3 seconds`)
  })

  test('because its name lookup never ends is given up in time, and at once when the process stops', async () => {
    const resolve = () => new Promise<never>(() => {})

    const unsent = await send('https://hooks.example/sesame', { timeoutMs: 200, resolve })
    const stopped = await send('https://hooks.example/sesame', { resolve, signal: AbortSignal.timeout(50) })

    expect(unsent?.failure).toBe('hooks.example gave no answer within 0.2 seconds')
    expect(stopped?.failure).toBe('this process stopped meanwhile')
  })

  test('because its configured address is no longer valid says so without showing the address', async () => {
    const unsent = await send('', { url: secretText('sesame') })

    expect(unsent).toEqual({ failure: 'alerts.channels.chat.url does not hold an address' })
  })
})

describe('the private network', () => {
  test.each([
    ['an address of this machine', 'http://127.0.0.1:9/sesame', /127\.0\.0\.1 is no address of the public internet/],
    [
      'an address of the cloud',
      'https://169.254.169.254/sesame',
      /169\.254\.169\.254 is no address of the public internet/,
    ],
    ['an IPv6 spelling of one', 'https://[::ffff:10.0.0.1]/sesame', /is no address of the public internet/],
  ])('is refused: %s', async (_what, url, expected) => {
    const unsent = await send(url, { allowPrivate: false, insecure: true })

    expect(unsent?.failure).toMatch(expected)
    expect(unsent?.failure).not.toContain('sesame')
  })

  test('is refused if one address of several lies in it', async () => {
    const resolve = async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '192.168.1.1', family: 4 },
    ]

    const unsent = await send('https://hooks.example/sesame', { allowPrivate: false, resolve })

    expect(unsent?.failure).toMatch(/^hooks\.example leads to 192\.168\.1\.1/)
  })

  test('cannot be reached by a name that leads elsewhere a moment later', async () => {
    await using chat = await startChat(responds(200, 'ok'))
    let lookUps = 0
    const resolve = async () => [{ address: lookUps++ === 0 ? '127.0.0.1' : '203.0.113.1', family: 4 }]
    const url = chat.url.replace('127.0.0.1', 'hooks.example')

    const unsent = await send(url, { insecure: true, resolve })

    expect(unsent).toBeNull()
    expect([lookUps, chat.received.length]).toEqual([1, 1])
  })

  test('without TLS must be allowed by a setting, except on this machine', async () => {
    const unsent = await send('http://hooks.example/sesame', { resolve: async () => [] })

    expect(unsent?.failure).toMatch(/hooks\.example is to be reached without TLS/)
  })
})

describe('a reason full of markup', () => {
  const hostile = 'people <!channel> <https://evil.example|click> *bold* & @all @here \u202e\u0007 <script>.csv'
  const linkOf = alertLinks({ link: 'https://wiki.example/{run}?a=1|2', consoleUrl: null })
  const message = slackMessage(noticeText(raised({ reason: hostile }), linkOf)) as {
    text: string
    blocks: { text: { type: string; text: string } }[]
  }

  test('mentions no one and links nowhere in the text', () => {
    expect(message.text).toContain('&lt;!channel&gt; &lt;https://evil.example|click&gt; *bold* &amp;')
    expect(message.text).not.toMatch(/[<>\u202e]|@(?:all|here)/)
    expect(message.text).not.toContain('\u0007')
    expect(message).toMatchObject({ mrkdwn: false, link_names: false, unfurl_links: false })
  })

  test('is plain text in the blocks, and only the link of the configuration is a link', () => {
    const [first, second] = message.blocks

    expect(first?.text).toMatchObject({ type: 'plain_text', text: expect.stringContaining('<!channel>') })
    expect(first?.text.text).not.toMatch(/@(?:all|here)/)
    expect(second?.text).toEqual({
      type: 'mrkdwn',
      text: '<https://wiki.example/0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f?a=1%7C2>',
    })
  })
})
