import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Refusal, refuse } from '../../../src/http/refusal.ts'
import { ask, serveNotes } from '../notes.ts'

const json = { 'content-type': 'application/json' }

/** Says these bytes to the server and gives everything it says back until the connection ends. */
async function exchange(baseUrl: string, bytes: string, { leave = false } = {}): Promise<string> {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  if (leave) socket.end(bytes)
  else socket.write(bytes)
  return Buffer.concat(await Array.fromAsync(socket)).toString()
}

describe('the order of checks', () => {
  const broken = { method: 'POST', headers: json, body: '{ not json' }

  test('an unauthorized caller learns nothing about the request', async () => {
    await using server = await serveNotes({
      mount: { authorize: () => Promise.reject(refuse('Unauthorized', 'no key')) },
    })

    const answer = await ask(`${server.baseUrl}/notes`, broken)

    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ statusCode: 401, message: 'no key', code: 14010 })
  })

  test('authorize receives the requested operation', async () => {
    const calls: unknown[] = []
    await using server = await serveNotes({
      mount: { authorize: async (_, { permission, entitlement }) => calls.push({ permission, entitlement }) },
    })

    await server.client.createNote({ body: { text: 'hello' } })

    expect(calls).toEqual([{ permission: ['notes-post', 'notes-admin'], entitlement: 'NOTES' }])
  })

  test('what authorize returns reaches the handler', async () => {
    const received: unknown[] = []
    await using server = await serveNotes({
      mount: { authorize: async () => ({ account: 7 }) },
      handlers: {
        deleteNote: async (ctx) => {
          received.push(ctx)
          return { status: 204 }
        },
      },
    })

    await server.client.deleteNote({ params: { noteId: 1 } })

    expect(received).toEqual([{ account: 7 }])
  })

  test('a bad path is refused before a bad query', async () => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/books/abc/pages/1?size=abc`)

    expect(answer.body).toMatchObject({ statusCode: 400, message: 'bookId: must be a whole number' })
  })

  test('a handler never sees an input that the table does not allow', async () => {
    let calls = 0
    await using server = await serveNotes({
      handlers: {
        createNote: async () => {
          calls += 1
          return { status: 201, body: { id: 1, text: '', pinned: false } }
        },
      },
    })

    const answer = await server.client.createNote({ body: { text: 'x'.repeat(21) } })

    expect(answer).toMatchObject({ status: 400, error: { message: expect.stringContaining('body.text') } })
    expect(calls).toBe(0)
  })
})

describe('refusals and failures', () => {
  test.each([
    [400, { statusCode: 400, message: 'no', code: 14000, name: 'BadRequest' }],
    [401, { statusCode: 401, message: 'no', code: 14010 }],
    [402, { statusCode: 402, message: 'no', code: 14020 }],
    [403, { statusCode: 403, message: 'no', code: 14030 }],
    [404, { statusCode: 404, message: 'no', code: 14040, name: 'NotFound' }],
    [409, { statusCode: 409, message: 'no', code: 14090, name: 'Conflict' }],
    [412, { statusCode: 412, message: 'no', code: 14120 }],
    [413, { statusCode: 413, message: 'no', code: 14130, name: 'TooLarge' }],
    [422, { statusCode: 422, message: 'no', code: 14220, name: 'Unprocessable' }],
    [429, { statusCode: 429, message: 'no', code: 14290 }],
    [500, { statusCode: 500, message: 'no', code: 15000 }],
    [503, { statusCode: 503, message: 'no', code: 15030, name: 'Unavailable' }],
  ])('a refusal with %i has the body of that status', async (status, body) => {
    await using server = await serveNotes({
      handlers: { createNote: () => Promise.reject(new Refusal(status, 'no')) },
    })

    const answer = await ask(`${server.baseUrl}/notes`, { method: 'POST', headers: json, body: '{"text":"x"}' })

    expect(answer.status).toBe(status)
    expect(answer.body).toEqual(body)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  })

  test('a refusal can have more details than its status', async () => {
    const refusal = new Refusal(409, 'running', { code: 28022, name: 'SyncRunning', headers: { 'retry-after': '7' } })
    await using server = await serveNotes({ handlers: { createNote: () => Promise.reject(refusal) } })

    const answer = await server.client.createNote({ body: { text: 'x' } })

    expect(answer).toMatchObject({
      status: 409,
      error: { message: 'running', code: 28022, name: 'SyncRunning' },
      headers: { 'retry-after': '7' },
    })
  })

  test('an undeclared failure is a 500 without details, and a log line with the operation', async () => {
    const failure = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (email)=(ana@example.com)',
    })
    await using server = await serveNotes({ handlers: { createNote: () => Promise.reject(failure) } })

    const answer = await ask(`${server.baseUrl}/notes`, { method: 'POST', headers: json, body: '{"text":"x"}' })

    expect(answer.body).toEqual({ statusCode: 500, message: expect.any(String), code: 15000 })
    expect(answer.text).not.toContain('duplicate')
    const line = server.logged.find(({ msg }) => msg === 'request failed')
    expect(line).toMatchObject({
      level: 50,
      failure: { code: '23505', stack: expect.stringContaining('mount.test.ts') },
    })
    expect(JSON.stringify(server.logged)).not.toContain('ana@example.com')
  })

  test('no log line contains the address of a request', async () => {
    await using server = await serveNotes()

    await server.client.getNote({ params: { noteId: 'key:ana@example.com' } })

    expect(server.logged).toContainEqual(expect.objectContaining({ operation: 'getNote', status: 200 }))
    expect(JSON.stringify(server.logged)).not.toContain('ana')
  })

  test.each([
    ['an unknown path', 'GET', '/v1/nothing'],
    ['a path outside the prefix', 'GET', '/notes'],
    ['a trailing slash', 'GET', '/v1/notes/import/'],
  ])('%s is a 404', async (_, method, path) => {
    await using server = await serveNotes()

    const answer = await ask(new URL(path, server.baseUrl).href, { method })

    expect(answer.status).toBe(404)
    expect(answer.body).toMatchObject({ statusCode: 404, code: 14041, name: 'UnknownPath' })
  })
})

describe('methods', () => {
  test.each([
    ['/notes', 'PUT', 'GET, HEAD, POST'],
    ['/notes', 'OPTIONS', 'GET, HEAD, POST'],
    ['/notes/import', 'PUT', 'DELETE, GET, HEAD, POST'],
    ['/notes/5', 'POST', 'DELETE, GET, HEAD'],
    ['/notes/%E2%82%AC?size=1', 'PATCH', 'DELETE, GET, HEAD'],
  ])('%s answers %s with 405 and the methods that it has', async (path, method, allow) => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}${path}`, { method })

    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe(allow)
    expect(answer.body).toEqual({
      statusCode: 405,
      message: `this path is served with ${allow} only`,
      code: 14050,
      name: 'MethodNotAllowed',
    })
  })

  test('HEAD answers like GET, without the body', async () => {
    await using server = await serveNotes()

    const [get, head] = [await ask(`${server.baseUrl}/notes`), await ask(`${server.baseUrl}/notes`, { method: 'HEAD' })]
    const refused = await ask(`${server.baseUrl}/notes?size=0`, { method: 'HEAD' })

    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['content-type', 'content-length']) expect(head.headers.get(name)).toBe(get.headers.get(name))
    expect([refused.status, refused.text]).toEqual([400, ''])
  })

  test('HEAD requires the same key as GET', async () => {
    await using server = await serveNotes({
      mount: { authorize: () => Promise.reject(refuse('Unauthorized', 'no key')) },
    })

    const answer = await ask(`${server.baseUrl}/notes`, { method: 'HEAD' })

    expect(answer.status).toBe(401)
  })
})

describe('headers of answers', () => {
  test.each([
    ['no key', {}, 'Bearer'],
    ['a key that is not valid', { authorization: 'Bearer of-nothing' }, 'Bearer error="invalid_token"'],
  ])('a 401 to %s names the required credentials', async (_, headers, challenge) => {
    await using server = await serveNotes({
      mount: { authorize: () => Promise.reject(refuse('Unauthorized', 'no key')) },
    })

    const answer = await ask(`${server.baseUrl}/notes`, { headers })

    expect(answer.headers.get('www-authenticate')).toBe(challenge)
  })

  test.each([
    ['a success', '/v1/notes', {}],
    ['a refusal', '/v1/notes?size=0', {}],
    ['an unknown path', '/v1/nothing', {}],
    ['a path that is no text', '/v1/notes/%zz', {}],
    ['another method', '/v1/notes', { method: 'PATCH' }],
    ['a body that is no JSON', '/v1/notes', { method: 'POST', headers: json, body: '{' }],
  ])('%s has a unique request ID', async (_, path, init) => {
    await using server = await serveNotes()
    const url = new URL(path, server.baseUrl).href

    const ids = [await ask(url, init), await ask(url, init)].map(({ headers }) => headers.get('x-request-id'))

    expect(ids).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(new Set(ids).size).toBe(2)
  })

  test('the ID of a caller is kept and logged', async () => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/notes`, { headers: { 'x-request-id': 'trace-0af7651916cd43dd' } })

    expect(answer.headers.get('x-request-id')).toBe('trace-0af7651916cd43dd')
    expect(server.logged).toContainEqual(
      expect.objectContaining({ requestId: 'trace-0af7651916cd43dd', operation: 'listNotes' }),
    )
  })

  test.each(['short', 'x'.repeat(129), 'ana@example.com', 'two words here'])(
    'an id such as %s is replaced',
    async (cause) => {
      await using server = await serveNotes()

      const answer = await ask(`${server.baseUrl}/notes`, { headers: { 'x-request-id': cause } })

      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    },
  )
})

describe('compression', () => {
  const handlers = {
    listNotes: async () => ({
      status: 200 as const,
      body: {
        data: Array.from({ length: 200 }, (_, id) => ({ id: id + 1, text: 'a note', pinned: false })),
        pagination: {},
      },
    }),
  }

  test.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['deflate, gzip;q=0.5', 'deflate'],
    ['identity', null],
    ['nothing-that-is', null],
  ])('a response to a caller who accepts %s is compressed so', async (accepted, encoding) => {
    await using server = await serveNotes({ handlers })

    const answer = await ask(`${server.baseUrl}/notes`, { headers: { 'accept-encoding': accepted } })

    expect(answer.headers.get('content-encoding')).toBe(encoding)
    expect(answer.body.data).toHaveLength(200)
  })

  test('saves most of a long list', async () => {
    await using server = await serveNotes({ handlers })
    const lengthOf = async (accepted: string) => {
      const answer = await server.app.inject({ url: '/v1/notes', headers: { 'accept-encoding': accepted } })
      return answer.rawPayload.length
    }

    const [whole, small] = [await lengthOf('identity'), await lengthOf('gzip')]

    expect(small).toBeGreaterThan(0)
    expect(small).toBeLessThan(whole / 5)
  })

  test('is not used for a short response', async () => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/notes`, { headers: { 'accept-encoding': 'gzip' } })

    expect(answer.headers.get('content-encoding')).toBeNull()
  })

  test('of a request body is refused explicitly', async () => {
    await using server = await serveNotes()
    const init = { method: 'POST', headers: { ...json, 'content-encoding': 'gzip' }, body: gzipSync('{"text":"x"}') }

    const answer = await ask(`${server.baseUrl}/notes`, init)

    expect(answer.body).toMatchObject({ statusCode: 400, message: 'the body must be sent without a Content-Encoding' })
  })

  test('leaves HEAD without a body', async () => {
    await using server = await serveNotes({ handlers })

    const answer = await ask(`${server.baseUrl}/notes`, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })

    expect([answer.status, answer.text]).toEqual([200, ''])
  })
})

describe('bytes that never become a request', () => {
  test.each([
    ['no HTTP at all', 'GARBAGE\r\n\r\n', 400, 'MalformedRequest'],
    [
      'oversized headers',
      `GET /v1/notes HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      431,
      'HeadersTooLarge',
    ],
  ])('%s gets the body of any other refusal', async (_, bytes, status, name) => {
    await using server = await serveNotes()

    const response = await exchange(server.baseUrl, bytes)

    const [head = '', body = ''] = response.split('\r\n\r\n')
    expect(head).toContain(`HTTP/1.1 ${status} `)
    expect(head).toMatch(/\r\nx-request-id: [0-9a-f-]{36}(\r\n|$)/)
    expect(JSON.parse(body)).toEqual({
      statusCode: status,
      message: expect.any(String),
      code: expect.any(Number),
      name,
    })
  })

  test('a caller who disconnects within a body causes no failure', async () => {
    await using server = await serveNotes()
    const half =
      'POST /v1/notes HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"te'

    await exchange(server.baseUrl, half, { leave: true })
    await server.app.close()

    expect(server.logged.filter(({ level }) => Number(level) >= 40)).toEqual([])
  })
})

describe('checked replies', () => {
  const checking = { mount: { validateResponses: true } }

  test.each([
    ['a body of the wrong shape', { status: 200, body: { noteId: 0 } }],
    ['a key that the table does not list', { status: 200, body: { noteId: 1, secret: 'x' } }],
    ['no body where one is due', { status: 200 }],
    ['a status that the operation does not list', { status: 201, body: { noteId: 1 } }],
  ])('%s becomes a failure', async (_, reply) => {
    await using server = await serveNotes({ ...checking, handlers: { getNote: async () => reply as never } })

    const answer = await server.client.getNote({ params: { noteId: 1 } })

    expect(answer.status).toBe(500)
  })

  test('an unexpected body becomes a failure', async () => {
    const reply = { status: 204, body: {} } as const
    await using server = await serveNotes({ ...checking, handlers: { deleteNote: async () => reply } })

    const answer = await server.client.deleteNote({ params: { noteId: 1 } })

    expect(answer.status).toBe(500)
  })

  test('a refusal that the operation does not list becomes a failure', async () => {
    await using server = await serveNotes({
      ...checking,
      handlers: { deleteNote: () => Promise.reject(new Refusal(409, 'no')) },
    })

    const answer = await server.client.deleteNote({ params: { noteId: 1 } })

    expect(answer.status).toBe(500)
  })

  test('a reply that the table allows passes', async () => {
    await using server = await serveNotes(checking)

    const answer = await server.client.createNote({ body: { text: 'x' } })

    expect(answer).toMatchObject({ status: 201, body: { id: 1, text: 'x', pinned: false } })
  })
})

test('closing waits for requests in progress', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await using server = await serveNotes({
    handlers: {
      deleteNote: async () => {
        arrive()
        await released
        return { status: 204 }
      },
    },
  })

  const answer = server.client.deleteNote({ params: { noteId: 1 } })
  await arrived
  const closed = server.app.close()
  release()

  expect(await answer).toMatchObject({ status: 204 })
  await closed
})
