import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/connectors/http/network/clock.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { type Answer, csv, failureOf, json, openHttp, rowsOf, startHrServer } from '../../helpers/sources/hr-server.ts'

const rows = `id,name\n${'1,Ana\n'.repeat(5000)}`

describe('an answer that is no success', () => {
  test.each([
    [204, 'source_unreadable', 'has nothing to give (status 204)'],
    [206, 'source_unreadable', 'gave a part although all was asked for (status 206)'],
    [304, 'source_unreadable', 'gave an unexpected answer (status 304)'],
    [400, 'source_unreadable', 'does not understand the request (status 400)'],
    [
      401,
      'source_unreadable',
      'does not accept the credentials (status 401): check them, and whether they have expired',
    ],
    [403, 'source_unreadable', 'does not let these credentials read (status 403)'],
    [404, 'source_unreadable', 'knows nothing under this address (status 404)'],
    [418, 'source_unreadable', 'gave an unexpected answer (status 418)'],
    [408, 'source_unreachable', 'is in trouble (status 408)'],
    [500, 'source_unreachable', 'is in trouble (status 500)'],
  ])('%i is a %s', async (status, code, expected) => {
    const { failure, requests } = await failureOf((_request, response) => response.writeHead(status).end('Ana Secret'))

    expect(failure).toMatchObject({ code, message: expect.stringContaining(expected) })
    expect(String(failure)).not.toContain('Secret')
    expect(requests).toBe(1)
  })

  test('is not read, so that it may be without an end', async () => {
    const { failure } = await failureOf((_request, response) => {
      response.writeHead(404)
      response.write('not here')
    })

    expect(failure).toMatchObject({ message: expect.stringContaining('knows nothing under this address') })
  })

  test('is requested again when the server states a wait', async () => {
    const answers: Answer[] = [
      (_request, response) => response.writeHead(429, { 'retry-after': '0' }).end(),
      (_request, response) => response.writeHead(503, { 'retry-after': new Date(0).toUTCString() }).end('busy'),
      json([{ id: 1 }]),
    ]
    await using server = await startHrServer((request, response) => answers.shift()?.(request, response))
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: server.url }, { folder: folder.path })

    expect(await rowsOf(reading)).toHaveLength(1)
    expect(server.requests).toHaveLength(3)
  })
})

describe('an answer of another kind', () => {
  test.each([
    [
      'json',
      'text/html; charset=utf-8',
      'answers with text/html, a login page perhaps: check the address and the credentials',
    ],
    ['csv', 'TEXT/HTML', 'answers with text/html, a login page perhaps'],
    ['csv', 'application/xhtml+xml', 'a login page perhaps'],
    ['csv', 'application/problem+json', 'answers with application/problem+json: expected csv; check format'],
    ['json', 'text/csv', 'answers with text/csv: expected json'],
    ['json', 'application/xml', 'answers with application/xml'],
  ] as const)('than %s is refused: %s', async (format, type, expected) => {
    const { failure, remaining } = await failureOf(csv(rows, { 'content-type': type }), { format })

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining(expected) })
    expect(remaining).toEqual([])
  })

  test.each(['application/json', 'application/vnd.hr+json; charset=utf-8', 'text/plain', 'application/octet-stream'])(
    'is not seen in %s',
    async (type) => {
      await using server = await startHrServer(json([{ id: 1 }], { 'content-type': type }))
      await using folder = await temporaryFolder()

      const reading = await openHttp({ url: server.url }, { folder: folder.path })

      expect(await rowsOf(reading)).toHaveLength(1)
    },
  )
})

test('an answer that is refused by its head is not waited for', async () => {
  const login: Answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.write('<html>')
  }

  const { failure } = await failureOf(login)

  expect(failure).toMatchObject({ message: expect.stringContaining('a login page perhaps') })
})

describe('an answer that does not come whole', () => {
  const cut: Answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv', 'content-length': rows.length })
    response.write(rows.slice(0, 600), () => response.destroy())
  }
  const cutChunk: Answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' })
    response.write(rows.slice(0, 600), () => response.destroy())
  }
  const packed = gzipSync(rows)
  const cutGzip = csv(packed.subarray(0, packed.length - 20), { 'content-encoding': 'gzip' })
  const stalled: Answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv', 'content-length': rows.length })
    response.write(rows.slice(0, 600))
  }
  const dripping: Answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' })
    const timer = setInterval(() => response.write('1,Ana\n'), 20)
    response.on('close', () => clearInterval(timer))
  }
  const gone: Answer = (_request, response) => response.destroy()
  const twoLengths: Answer = (_request, response) => {
    response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab')
  }
  const silent: Answer = () => {}

  test.each([
    ['is cut before its announced length', cut, {}, 'ended the connection too soon'],
    ['is cut between its chunks', cutChunk, {}, 'ended the connection too soon'],
    ['is cut while packed', cutGzip, {}, 'ended the connection too soon'],
    ['stalls', stalled, { idleTimeoutMs: 100 }, 'stayed silent within its answer'],
    ['drips', dripping, { totalTimeoutMs: 300 }, 'took longer than 300 ms'],
    ['never begins', silent, { idleTimeoutMs: 100 }, 'stayed silent for too long'],
    ['never begins and nobody minds the silence', silent, { totalTimeoutMs: 200 }, 'took longer than 200 ms'],
    ['has another length than announced', twoLengths, {}, 'ended the connection too soon'],
    ['is a closed connection', gone, {}, 'ended the connection too soon'],
  ])('because it %s can be tried again, and leaves nothing', async (_case, answer, settings, expected) => {
    const { failure, remaining } = await failureOf(answer, { format: 'csv', ...settings })

    expect(failure).toMatchObject({
      code: 'source_unreachable',
      message: expect.stringMatching(new RegExp(`^http://127.0.0.1:\\d+/people ${expected}`)),
    })
    expect(remaining).toEqual([])
  })

  test('because nobody listens can be tried again', async () => {
    const server = await startHrServer(json([]))
    await server[Symbol.asyncDispose]()
    await using folder = await temporaryFolder()

    const opening = openHttp({ url: server.url }, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreachable',
      message: expect.stringContaining('refuses connections (ECONNREFUSED)'),
    })
  })

  test('because the host has no address can be tried again', async () => {
    await using folder = await temporaryFolder()
    const resolve = () => Promise.reject(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }))

    const opening = openHttp({ url: 'https://hr.example/people' }, { folder: folder.path, resolve })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreachable',
      message: 'hr.example has no address (ENOTFOUND): check the name of the host, and the name server',
    })
  })

  test.each([
    ['waits for an answer', silent],
    ['reads an answer', stalled],
    ['waits to ask again', ((_request, response) => response.writeHead(429, { 'retry-after': '50' }).end()) as Answer],
  ])('because the caller stopped while it %s ends at once, for the reason of the caller', async (_case, answer) => {
    const stop = new AbortController()
    await using server = await startHrServer((request, response) => {
      answer(request, response)
      setTimeout(() => stop.abort(new Error('stopping')), 50)
    })
    await using folder = await temporaryFolder()
    const options = { signal: stop.signal }

    const opening = openHttp({ url: server.url, format: 'csv' }, { folder: folder.path, options, clock: systemClock })

    await expect(opening).rejects.toThrow('stopping')
  })
})
