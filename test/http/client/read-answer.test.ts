import { describe, expect, test } from 'vitest'
import { clientOf, serveNotes } from '../notes.ts'
import { serveRaw, serveResponse } from '../raw-server.ts'

const json = { 'content-type': 'application/json' }

async function answerTo(status: string, headers: Readonly<Record<string, string>> = {}, body = '') {
  await using server = await serveResponse(status, headers, body)
  return await clientOf(server.baseUrl).getNote({ params: { noteId: 1 } })
}

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

  test('a listed error has the content of its body', async () => {
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

  test('an undeclared status has the content of its body', async () => {
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
    ['1.5', 1500],
    ['0.0001', 1],
    ['-1', null],
    ['Wed, 01 Jul 2026 10:01:30 GMT', 90_000],
    ['Wed, 01 Jul 2026 09:00:00 GMT', 0],
    ['soon', null],
    ['', null],
  ])('Retry-After %j means a wait of %j ms', async (value, wait) => {
    const answer = await answerTo('429 Too Many Requests', { date, 'retry-after': value })

    expect(answer).toMatchObject({ status: 'undeclared', httpStatus: 429, retryAfterMs: wait })
  })

  test('without Retry-After the server requests no wait', async () => {
    const answer = await answerTo('429 Too Many Requests')

    expect(answer).toMatchObject({ retryAfterMs: null })
  })
})
