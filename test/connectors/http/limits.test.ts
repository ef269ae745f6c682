import { createGzip } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type Answer, csv, failureOf, json } from '../../helpers/sources/hr-server.ts'

const rows = `id,name\n${'1,Ana\n'.repeat(5000)}`

describe('an answer that is too much', () => {
  test.each([
    ['csv', { format: 'csv', maxBytes: 4096 }, 'sends more than 4096 bytes'],
    ['json', { maxBytes: 4096 }, 'sends more than 4096 bytes'],
    ['a page of json', { maxPageBytes: 4096 }, 'is longer than 4096 bytes'],
  ] as const)('is refused on the way: %s', async (_case, settings, expected) => {
    let sentBytes = 0
    const endless: Answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const send = () => {
        while (!response.destroyed && response.write('x'.repeat(1024))) sentBytes += 1024
      }
      response.on('drain', send)
      send()
    }

    const { failure, remaining } = await failureOf(endless, settings)

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining(expected) })
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024)
    expect(remaining).toEqual([])
  })

  test('is refused when the pages are too much together', async () => {
    const { failure } = await failureOf(
      (request, response) => {
        const number = Number(request.url?.split('=')[1] ?? '1')
        json({ people: [{ id: number, note: 'x'.repeat(1000) }], next: `?page=${number + 1}` })(request, response)
      },
      { records: '/people', next: '/next', maxBytes: 5000 },
    )

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining('page 5 of') })
  })

  test('is refused in little memory when it unpacks to two gigabytes', async () => {
    const bomb: Answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/csv', 'content-encoding': 'gzip' })
      const zeros = Buffer.alloc(1024 * 1024)
      const gzip = createGzip({ level: 1 })
      gzip.on('error', () => {}).pipe(response)
      response.on('close', () => gzip.destroy())
      const send = () => {
        while (!gzip.destroyed && gzip.write(zeros));
      }
      gzip.on('drain', send)
      send()
    }
    const before = process.memoryUsage().rss

    const { failure } = await failureOf(bomb, { format: 'csv', maxBytes: 20 * 1024 * 1024 })

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining('sends more than') })
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
  })

  test.each([
    ['an unknown packing', { 'content-encoding': 'zip' }, 'packs its answer in an unknown way (zip)'],
    ['a double packing', { 'content-encoding': 'gzip, br' }, 'packs its answer in an unknown way (gzip, br)'],
    ['a packing named like a method', { 'content-encoding': 'constructor' }, 'in an unknown way (constructor)'],
    ['gzip that is none', { 'content-encoding': 'gzip' }, 'packed its answer wrongly (Z_DATA_ERROR)'],
    ['brotli that is none', { 'content-encoding': 'br' }, 'packed its answer wrongly'],
  ])('is refused for %s', async (_case, headers, expected) => {
    const { failure } = await failureOf(csv(rows, headers), { format: 'csv' })

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining(expected) })
  })

  test.each([
    ['endless headers', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`, 'answered with endless headers'],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'does not answer in HTTP'],
  ])('is refused for %s', async (_case, text, expected) => {
    const { failure } = await failureOf((_request, response) => response.socket?.end(text))

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining(expected) })
  })
})
