import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scimRefusal } from '../../../src/connectors/scim/errors.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { errorSchema, openScim } from '../../helpers/sources/scim-server.ts'

let scim: Awaited<ReturnType<typeof openScim>>
beforeAll(async () => {
  scim = await openScim({ settings: { bodyLimitBytes: 1024, inboxLimit: 1 }, requestTimeoutMs: 200 })
})
afterAll(() => scim[Symbol.asyncDispose]())

/** Sends the bytes of a request, and reads the answer to its end. The lines of the head end with LF here. */
async function exchange(url: string, head: string, body = '') {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(`${head.trim().replaceAll('\n', '\r\n')}\r\nconnection: close\r\n\r\n${body}`)
  const answer = Buffer.concat(await Array.fromAsync(socket)).toString()
  const [, status = '', headers = '', text = ''] = /^HTTP\/1\.1 (\d+)[^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(answer) ?? []
  return { status: Number(status), headers, body: JSON.parse(text) as unknown }
}

const token = 'authorization: Bearer TOKEN'
const scimJson = 'content-type: application/scim+json'
const half = '{"userName":"Ottoline'

describe('every answer below /scim/v2 that is no success has the body of the standard', () => {
  test.each<[string, number, string, string?]>([
    ['no token', 401, 'GET /scim/v2/hr/Users HTTP/1.1\nhost: localhost'],
    ['another token', 401, 'GET /scim/v2/beta/Users HTTP/1.1\nhost: localhost\nauthorization: Bearer rct_0'],
    [
      'no token and half a document',
      401,
      `POST /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${scimJson}\ncontent-length: ${half.length}`,
      half,
    ],
    [
      'no token and another media type',
      401,
      'POST /scim/v2/hr/Users HTTP/1.1\nhost: localhost\ncontent-type: text/xml\ncontent-length: 2',
      '<>',
    ],
    ['an unknown connection', 401, `GET /scim/v2/gamma/Users HTTP/1.1\nhost: localhost\n${token}`],
    [
      'an unknown connection, half a document',
      401,
      `POST /scim/v2/gamma/Users HTTP/1.1\nhost: localhost\n${token}\n${scimJson}\ncontent-length: ${half.length}`,
      half,
    ],
    ['an unknown connection, a page', 401, `GET /scim/v2/gamma HTTP/1.1\nhost: localhost\n${token}\naccept: text/html`],
    [
      'an unknown connection under a foreign host',
      401,
      `GET /scim/v2/gamma/Users HTTP/1.1\nhost: idp.example\n${token}`,
    ],
    ['no connection', 401, `GET /scim/v2 HTTP/1.1\nhost: localhost\n${token}`],
    ['no connection, and a slash', 401, `GET /scim/v2/ HTTP/1.1\nhost: localhost\n${token}`],
    ['no connection, and a query', 401, `GET /scim/v2?count=1 HTTP/1.1\nhost: localhost\n${token}`],
    ['the base of a connection', 404, `GET /scim/v2/hr HTTP/1.1\nhost: localhost\n${token}`],
    ['an unknown path', 404, `GET /scim/v2/hr/Bulk HTTP/1.1\nhost: localhost\n${token}`],
    ['an unknown path under a foreign host', 404, `GET /scim/v2/hr/Bulk HTTP/1.1\nhost: idp.example\n${token}`],
    ['an unknown user', 404, `GET /scim/v2/hr/Users/none HTTP/1.1\nhost: localhost\n${token}`],
    ['a method that is not there', 404, `DELETE /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${token}`],
    ['a method that few know', 405, `PROPFIND /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${token}`],
    ['a path that cannot be decoded', 400, `GET /scim/v2/hr/Users/%zz HTTP/1.1\nhost: localhost\n${token}`],
    ['a connection that cannot be decoded', 400, `GET /scim/v2/%zz HTTP/1.1\nhost: localhost\n${token}`],
    [
      'a whole address that cannot be decoded',
      400,
      `GET http://localhost/scim/v2/%zz HTTP/1.1\nhost: localhost\n${token}`,
    ],
    ['two hosts', 400, `GET /scim/v2/hr/Users HTTP/1.1\nhost: localhost\nhost: localhost\n${token}`],
    [
      'half a document',
      400,
      `POST /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${token}\n${scimJson}\ncontent-length: ${half.length}`,
      half,
    ],
    [
      'a large body',
      413,
      `POST /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${token}\n${scimJson}\ncontent-length: 1025`,
      'x'.repeat(1025),
    ],
    [
      'another media type',
      415,
      `POST /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${token}\ncontent-type: text/xml\ncontent-length: 2`,
      '<>',
    ],
    ['no media type', 415, `POST /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${token}\ncontent-length: 2`, '{}'],
    [
      'another media type at an unknown path',
      415,
      `POST /scim/v2/hr/Bulk HTTP/1.1\nhost: localhost\n${token}\ncontent-type: text/xml\ncontent-length: 2`,
      '<>',
    ],
    [
      'a body that does not arrive',
      408,
      `POST /scim/v2/hr/Users HTTP/1.1\nhost: localhost\n${token}\n${scimJson}\ncontent-length: 9`,
      '{',
    ],
  ])('%s', async (_, status, head, body) => {
    const answer = await exchange(scim.url, head.replace('TOKEN', scim.token), body)

    expect(answer.body).toEqual({
      schemas: [errorSchema],
      status: String(status),
      ...(answer.status === 400 && head.includes(scimJson) && { scimType: 'invalidSyntax' }),
      detail: expect.stringMatching(/./),
    })
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatch(/^content-type: application\/scim\+json/im)
  })
})

test('an address that failed too often gets the body of the standard, also at an unknown connection', async () => {
  await using served = await openScim()
  const attempt = () => exchange(served.url, 'GET /scim/v2/gamma/Users HTTP/1.1\nhost: localhost')
  for (let i = 0; i < 20; i += 1) await attempt()

  const answer = await attempt()

  expect(answer).toMatchObject({ status: 429, body: { schemas: [errorSchema], status: '429' } })
  expect(answer.headers).toMatch(/^retry-after: \d+/im)
})

test('a fault of the store is named with the body of the standard, also at an unknown connection', async () => {
  await using served = await openScim()
  await served.store.pool.query('drop table access_tokens cascade')

  const answer = await exchange(
    served.url,
    `GET /scim/v2/gamma/Users HTTP/1.1\nhost: localhost\n${token.replace('TOKEN', served.token)}`,
  )

  expect(answer).toMatchObject({ status: 500, body: { schemas: [errorSchema], status: '500' } })
})

test('a daemon without a SCIM connection has the body of the standard there, and its own elsewhere', async () => {
  const app = await createApp({ answerOf: scimRefusal })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await using _closing = { [Symbol.asyncDispose]: () => app.close() }

  const paths = ['/scim/v2/hr/Users', '/scim/v2', '/scim/v2x', '/api/v2']
  const answers = await Promise.all(paths.map((path) => exchange(url, `GET ${path} HTTP/1.1\nhost: localhost`)))

  const [below, exact, beside, api] = answers.map(({ body }) => body)
  expect([below, exact]).toEqual(Array(2).fill({ schemas: [errorSchema], status: '404', detail: expect.any(String) }))
  expect([beside, api]).toEqual(Array(2).fill(expect.objectContaining({ statusCode: 404, name: 'UnknownPath' })))
})
