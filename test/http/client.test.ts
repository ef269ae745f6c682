import fc from 'fast-check'
import { Agent } from 'undici'
import { describe, expect, test } from 'vitest'
import { type ClientOptions, createClient } from '../../src/http/client.ts'
import { notes, serveNotes } from './notes.ts'
import { serveRaw, serveResponse } from './raw-server.ts'

const json = { 'content-type': 'application/json' }

function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}) {
  return createClient(notes, { baseUrl, bearer: 'a-very-secret-key', ...options })
}

async function answerTo(status: string, headers: Readonly<Record<string, string>> = {}, body = '') {
  await using server = await serveResponse(status, headers, body)
  return await clientOf(server.baseUrl).getNote({ params: { noteId: 1 } })
}

describe('requests', () => {
  test('carry the key, and a body only where there is one', async () => {
    const requests: string[] = []
    await using server = await serveRaw((socket, request) => {
      requests.push(request.toLowerCase())
      socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')
    })
    const client = clientOf(server.baseUrl)

    await client.deleteNote({ params: { noteId: 1 } })
    await client.createNote({ body: { text: 'x' } })

    expect(requests[0]).toMatch(/^delete \/v1\/notes\/1 http\/1.1\r\n/)
    expect(requests[0]).toContain('authorization: bearer a-very-secret-key\r\n')
    expect(requests[0]).not.toContain('content-type')
    expect(requests[1]).toContain('content-type: application/json\r\n')
    expect(requests[1]).toMatch(/\r\n\r\n\{"text":"x"\}$/)
  })

  test('ask for the key anew each time', async () => {
    const keys = ['old', 'new']
    const seen: unknown[] = []
    await using server = await serveNotes({
      mount: { authorize: async (request) => seen.push(request.headers.authorization) },
      client: { bearer: async () => keys.shift() ?? 'none' },
    })

    await server.client.deleteNote({ params: { noteId: 1 } })
    await server.client.deleteNote({ params: { noteId: 1 } })

    expect(seen).toEqual(['Bearer old', 'Bearer new'])
  })

  test('find the operations below any base address', async () => {
    await using server = await serveNotes()
    const client = clientOf(`${server.baseUrl}/`)

    const answer = await client.getNote({ params: { noteId: 5 } })

    expect(answer).toMatchObject({ status: 200, body: { noteId: 5 } })
  })

  test('bring any text through the path as one segment', async () => {
    await using server = await serveNotes()
    const texts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 191 })

    await fc.assert(
      fc.asyncProperty(texts, async (pageId) => {
        const answer = await server.client.getPage({ params: { bookId: 1, pageId } })

        expect(answer).toMatchObject({ status: 200, body: { bookId: 1, pageId } })
      }),
    )
  })

  test.each([
    'a/b',
    'a%2Fb',
    '%',
    '%25',
    '..',
    '.',
    '../../x',
    'a?b=c#d',
    'ü 😀',
    ' ',
    '+',
    'a;b',
    '\\',
    '"',
    '\n',
    '%00',
  ])('bring %j through the path', async (pageId) => {
    await using server = await serveNotes()

    const answer = await server.client.getPage({ params: { bookId: 1, pageId } })

    expect(answer).toMatchObject({ status: 200, body: { pageId } })
  })

  test('write a segment of dots so that nothing on the way takes it for a step up', async () => {
    const requests: string[] = []
    await using server = await serveRaw((socket, request) => {
      requests.push(request)
      socket.destroy()
    })

    await clientOf(server.baseUrl).getPage({ params: { bookId: 1, pageId: '..' } })

    expect(requests[0]).toMatch(/^GET \/v1\/books\/1\/pages\/%2E%2E HTTP/)
  })

  test('bring any query through', async () => {
    let seen: unknown
    await using server = await serveNotes({
      handlers: {
        listNotes: async (_, { query }) => {
          seen = query
          return { status: 200, body: { data: [], pagination: {} } }
        },
      },
    })
    const queries = fc.record({
      cursor: fc.string({ unit: 'grapheme' }),
      size: fc.integer({ min: 1, max: 500 }),
      includeTotalCount: fc.boolean(),
      ids: fc.array(fc.integer(), { minLength: 1, maxLength: 5 }),
      'expand[]': fc.array(fc.constantFrom('author' as const, 'history' as const), { minLength: 1, maxLength: 3 }),
    })

    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        await server.client.listNotes({ query })

        expect(seen).toEqual(query)
      }),
    )
  })

  test('name the path parameter that is missing', async () => {
    const client = clientOf('http://127.0.0.1:9')

    const call = client.getPage({ params: { bookId: 1, pageId: '' } })

    await expect(call).rejects.toThrow('the path parameter pageId is missing')
  })

  test('let a key that cannot be had reach the caller', async () => {
    const client = clientOf('http://127.0.0.1:9', { bearer: () => Promise.reject(new Error('no such file')) })

    const call = client.deleteNote({ params: { noteId: 1 } })

    await expect(call).rejects.toThrow('no such file')
  })
})

describe('answers', () => {
  test('a success carries its body and headers', async () => {
    const answer = await answerTo('200 OK', { ...json, 'x-extra': 'yes' }, '{"noteId":1,"added later":true}')

    expect(answer).toMatchObject({ status: 200, body: { noteId: 1 }, headers: { 'x-extra': 'yes' } })
  })

  test('a success without a body has none, whatever was sent', async () => {
    await using server = await serveNotes()

    const answer = await server.client.deleteNote({ params: { noteId: 1 } })

    expect(answer).toMatchObject({ status: 204 })
    expect(answer).not.toHaveProperty('body')
  })

  test('a listed error carries what its body says', async () => {
    const answer = await answerTo(
      '404 Not Found',
      json,
      '{"statusCode":404,"message":"gone","code":7,"name":"NotFound"}',
    )

    expect(answer).toMatchObject({ status: 404, error: { message: 'gone', code: 7, name: 'NotFound' } })
  })

  test.each([
    ['{"message":["one","two"]}', { message: 'one; two', code: null, name: null }],
    ['{"message":"one","code":"x","name":5,"debugInfo":null}', { message: 'one', code: null, name: null }],
  ])('the error body %s is understood', async (body, error) => {
    const answer = await answerTo('400 Bad Request', json, body)

    expect(answer).toMatchObject({ status: 400, error })
  })

  test.each([
    ['200 OK', { 'content-type': 'text/html' }, '<html>sign in</html>', 'not JSON (content type: text/html)'],
    ['404 Not Found', { 'content-type': 'text/html' }, '<html>no such site</html>', 'not JSON'],
    ['200 OK', json, '{"noteId":', 'not JSON'],
    ['200 OK', json, '', 'not JSON'],
    ['200 OK', json, '{"noteId":0}', 'wrong shape: noteId'],
    ['200 OK', json, '[]', 'wrong shape'],
    ['404 Not Found', json, '{"error":"gone"}', 'wrong shape: message'],
    ['200 OK', json, '"\xff"', 'not UTF-8'],
    ['200 OK', { ...json, 'content-length': '500' }, '{"noteId":1}', 'broke off after 12 bytes'],
    ['200 OK', { ...json, 'content-encoding': 'gzip' }, '\x1f\x8b\x08', 'not '],
  ])('%s with %j and %j is unreadable: %s', async (status, headers, body, reason) => {
    await using server = await serveRaw((socket) => {
      const all = Object.entries({ 'content-length': String(body.length), ...headers })
      socket.end(
        Buffer.from(
          `HTTP/1.1 ${status}\r\n${all.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n${body}`,
          'latin1',
        ),
      )
    })

    const answer = await clientOf(server.baseUrl).getNote({ params: { noteId: 1 } })

    expect(answer).toMatchObject({ status: 'unreadable', httpStatus: Number.parseInt(status, 10) })
    expect(answer).toMatchObject({ reason: expect.stringContaining(reason) })
  })

  test('a body beyond the limit is unreadable and is not read to its end', async () => {
    await using server = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`
      const pour = () => {
        while (!socket.destroyed && socket.write(chunk));
      }
      socket.on('drain', pour)
      pour()
    })

    const answer = await clientOf(server.baseUrl, { maxResponseBytes: 100_000 }).getNote({ params: { noteId: 1 } })

    expect(answer).toMatchObject({ status: 'unreadable', reason: expect.stringContaining('larger than 100000 bytes') })
  })

  test.each([
    ['503 Service Unavailable', 503],
    ['429 Too Many Requests', 429],
    ['500 Internal Server Error', 500],
    ['409 Conflict', 409],
    ['202 Accepted', 202],
  ])('%s with an unreadable body is told apart by its status alone', async (status, httpStatus) => {
    const answer = await answerTo(status, { 'content-type': 'text/html' }, '<html>')

    const expected = httpStatus === 500 ? 'unreadable' : 'undeclared'
    expect(answer).toMatchObject({ status: expected, httpStatus })
  })

  test('an undeclared status carries what its body says', async () => {
    const answer = await answerTo('503 Service Unavailable', json, '{"message":"later","code":5}')

    expect(answer).toMatchObject({ status: 'undeclared', error: { message: 'later', code: 5, name: null } })
  })

  test('a redirect is an answer and is not followed', async () => {
    let requests = 0
    await using target = await serveRaw((socket) => {
      requests += 1
      socket.destroy()
    })

    const answer = await answerTo('302 Found', { location: `${target.baseUrl}/notes/1` })

    expect(answer).toMatchObject({ status: 'undeclared', httpStatus: 302 })
    expect(requests).toBe(0)
  })

  const date = 'Wed, 01 Jul 2026 10:00:00 GMT'
  test.each([
    ['7', 7000],
    ['0', 0],
    ['Wed, 01 Jul 2026 10:01:30 GMT', 90_000],
    ['Wed, 01 Jul 2026 09:00:00 GMT', 0],
    ['soon', null],
    ['', null],
  ])('Retry-After %j means a wait of %j ms', async (value, wait) => {
    const answer = await answerTo('429 Too Many Requests', { date, 'retry-after': value })

    expect(answer).toMatchObject({ status: 'undeclared', httpStatus: 429, retryAfterMs: wait })
  })

  test('no Retry-After means no wait that the server asked for', async () => {
    const answer = await answerTo('429 Too Many Requests')

    expect(answer).toMatchObject({ retryAfterMs: null })
  })
})

describe('no answer', () => {
  test('a port where nobody listens: nothing was sent', async () => {
    const server = await serveRaw(() => {})
    await server[Symbol.asyncDispose]()

    const answer = await clientOf(server.baseUrl).createNote({ body: { text: 'x' } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'connect', sent: false })
    expect(answer).toMatchObject({ message: expect.stringContaining(server.host) })
  })

  test('a name without an address: nothing was sent', async () => {
    const notFound = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const dispatcher = new Agent({ connect: { lookup: (_name, _options, done) => done(notFound, '', 0) } })

    const answer = await clientOf('http://platform.invalid', { dispatcher }).deleteNote({ params: { noteId: 1 } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'dns', sent: false })
  })

  test('a server without TLS behind https: nothing was sent', async () => {
    await using server = await serveRaw((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))

    const answer = await clientOf(`https://${server.host}`).deleteNote({ params: { noteId: 1 } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'tls', sent: false })
  })

  test('a connection that is reset: the request may have been applied', async () => {
    await using server = await serveRaw((socket) => socket.resetAndDestroy())

    const answer = await clientOf(server.baseUrl).createNote({ body: { text: 'x' } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'reset', sent: true })
  })

  test('a connection that is closed without a word: the request may have been applied', async () => {
    await using server = await serveRaw((socket) => socket.end())

    const answer = await clientOf(server.baseUrl).createNote({ body: { text: 'x' } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'reset', sent: true })
  })

  test('an answer that is not HTTP', async () => {
    await using server = await serveRaw((socket) => socket.end('220 mail.example.com ESMTP\r\n'))

    const answer = await clientOf(server.baseUrl).createNote({ body: { text: 'x' } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'reset', sent: true })
  })

  test('a server that keeps silent: the time is up', async () => {
    await using server = await serveRaw(() => {})

    const answer = await clientOf(server.baseUrl, { timeoutMs: 1000 }).createNote({ body: { text: 'x' } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'timeout', sent: true })
    expect(answer).toMatchObject({ message: expect.stringContaining('1000 ms') })
  })

  test('a body that never ends: the time is up', async () => {
    await using server = await serveRaw((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'))

    const answer = await clientOf(server.baseUrl, { timeoutMs: 1000 }).getNote({ params: { noteId: 1 } })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'timeout', sent: true })
  })

  test('a connection that never comes about: the time is up and nothing was sent', async () => {
    const dispatcher = new Agent({ connect: () => {} })

    const answer = await clientOf('http://127.0.0.1:9', { dispatcher, timeoutMs: 50 }).deleteNote({
      params: { noteId: 1 },
    })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'timeout', sent: false })
  })

  test('a caller who stops while the server works', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
    await using server = await serveRaw(() => arrive())
    const stop = new AbortController()

    const answer = clientOf(server.baseUrl).createNote({ body: { text: 'x' } }, { signal: stop.signal })
    await arrived
    stop.abort()

    expect(await answer).toMatchObject({ status: 'unreachable', reason: 'aborted', sent: true })
  })

  test('a caller who had stopped before: nothing was sent', async () => {
    await using server = await serveRaw((socket) => socket.destroy())

    const answer = await clientOf(server.baseUrl).createNote({ body: { text: 'x' } }, { signal: AbortSignal.abort() })

    expect(answer).toMatchObject({ status: 'unreachable', reason: 'aborted', sent: false })
  })

  test('never tells the key', async () => {
    await using server = await serveRaw((socket) => socket.resetAndDestroy())

    const answer = await clientOf(server.baseUrl).createNote({ body: { text: 'x' } })

    expect(JSON.stringify(answer)).not.toContain('a-very-secret-key')
  })
})
