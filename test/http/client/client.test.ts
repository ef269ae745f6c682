import fc from 'fast-check'
import { Agent } from 'undici'
import { describe, expect, test } from 'vitest'
import { clientOf, serveNotes } from '../notes.ts'
import { serveRaw } from '../raw-server.ts'

describe('requests', () => {
  test('contain the key, and a body only if there is one', async () => {
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

  test('request the key each time', async () => {
    const keys = ['old', 'new']
    const requests: unknown[] = []
    await using server = await serveNotes({
      mount: { authorize: async (request) => requests.push(request.headers.authorization) },
      client: { bearer: async () => keys.shift() ?? 'none' },
    })

    await server.client.deleteNote({ params: { noteId: 1 } })
    await server.client.deleteNote({ params: { noteId: 1 } })

    expect(requests).toEqual(['Bearer old', 'Bearer new'])
  })

  test('find the operations below any base address', async () => {
    await using server = await serveNotes()
    const client = clientOf(`${server.baseUrl}/`)

    const answer = await client.getNote({ params: { noteId: 5 } })

    expect(answer).toMatchObject({ status: 200, body: { noteId: 5 } })
  })

  test('send any text in the path as one segment', async () => {
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
  ])('send %j in the path', async (pageId) => {
    await using server = await serveNotes()

    const answer = await server.client.getPage({ params: { bookId: 1, pageId } })

    expect(answer).toMatchObject({ status: 200, body: { pageId } })
  })

  test('encode a segment of dots so that no proxy takes it for a step up', async () => {
    const requests: string[] = []
    await using server = await serveRaw((socket, request) => {
      requests.push(request)
      socket.destroy()
    })

    await clientOf(server.baseUrl).getPage({ params: { bookId: 1, pageId: '..' } })

    expect(requests[0]).toMatch(/^GET \/v1\/books\/1\/pages\/%2E%2E HTTP/)
  })

  test('send any query', async () => {
    let received: unknown
    await using server = await serveNotes({
      handlers: {
        listNotes: async (_, { query }) => {
          received = query
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

        expect(received).toEqual(query)
      }),
    )
  })

  test('name the path parameter that is missing', async () => {
    const client = clientOf('http://127.0.0.1:9')

    const call = client.getPage({ params: { bookId: 1, pageId: '' } })

    await expect(call).rejects.toThrow('the path parameter pageId is missing')
  })

  test('pass an error of the key on to the caller', async () => {
    const client = clientOf('http://127.0.0.1:9', { bearer: () => Promise.reject(new Error('no such file')) })

    const call = client.deleteNote({ params: { noteId: 1 } })

    await expect(call).rejects.toThrow('no such file')
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

  test('a connection that is closed without a response: the request may have been applied', async () => {
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

  test('never reveals the key', async () => {
    await using server = await serveRaw((socket) => socket.resetAndDestroy())

    const answer = await clientOf(server.baseUrl).createNote({ body: { text: 'x' } })

    expect(JSON.stringify(answer)).not.toContain('a-very-secret-key')
  })
})
