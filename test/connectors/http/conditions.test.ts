import { describe, expect, test } from 'vitest'
import type { Reading } from '../../../src/connectors/connector.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import {
  type Answer,
  csv,
  type HttpSettings,
  json,
  openHttp,
  rowsOf,
  startHrServer,
} from '../../helpers/sources/hr-server.ts'

const etag = '"v1"'

/** Answers 304 to whoever has the entity tag already. */
function tagged(answer: Answer): Answer {
  return (request, response) => {
    if (request.headers['if-none-match'] === etag) return response.writeHead(304, { etag }).end()
    return answer(request, response)
  }
}

describe('what was read before', () => {
  test.each([
    ['csv', csv('id\n1\n', { etag })],
    ['json', json([{ id: 1 }], { etag })],
  ] as const)('is not fetched again while its entity tag stays (%s)', async (format, answer) => {
    await using server = await startHrServer(tagged(answer))
    await using folder = await temporaryFolder()
    const first = await readWhole(openHttp({ url: server.url, format }, { folder: folder.path }))

    const second = await openHttp({ url: server.url, format }, { folder: folder.path, options: { last: first.source } })

    expect(second).toMatchObject({ mode: 'delta', source: null, headers: [] })
    expect(await rowsOf(second)).toEqual([])
    expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, etag])
  })

  test('is asked for by its time where the server knows no tags', async () => {
    const headers = { 'last-modified': 'Fri, 20 Nov 2026 01:00:00 GMT', date: 'Fri, 20 Nov 2026 01:02:00 GMT' }
    await using server = await startHrServer(csv('id\n1\n', headers))
    await using folder = await temporaryFolder()
    const first = await readWhole(openHttp({ url: server.url, format: 'csv' }, { folder: folder.path }))

    await readWhole(
      openHttp({ url: server.url, format: 'csv' }, { folder: folder.path, options: { last: first.source } }),
    )

    expect(server.requests[1]?.headers['if-modified-since']).toBe('Fri, 20 Nov 2026 01:00:00 GMT')
  })

  test.each([
    [
      'changed within the minute before',
      { 'last-modified': 'Fri, 20 Nov 2026 01:00:00 GMT', date: 'Fri, 20 Nov 2026 01:00:30 GMT' },
    ],
    ['has a tag that means any', { etag: '*' }],
    ['has a list for a tag', { etag: '"a", "b"' }],
    ['has a tag with control characters', { etag: '"a\tb"' }],
  ])('is fetched again when it %s', async (_case, headers) => {
    await using server = await startHrServer(csv('id\n1\n', headers))
    await using folder = await temporaryFolder()

    const reading = await readWhole(openHttp({ url: server.url, format: 'csv' }, { folder: folder.path }))

    expect(reading.source).not.toHaveProperty('validator')
  })

  test.each([
    ['another address', { path: '/other' }],
    ['another place in the answer', { records: '/data' }],
    ['another mode', { mode: 'delta' }],
  ] as const)('is fetched again from %s', async (_case, changed) => {
    await using server = await startHrServer(tagged(json({ people: [], data: [] }, { etag })))
    await using folder = await temporaryFolder()
    const { path = '/people', ...settings } = { records: '/people', ...changed } as { path?: string } & HttpSettings
    const before = { url: `${server.url}/people`, records: '/people' }
    const first = await readWhole(openHttp(before, { folder: folder.path }))

    const after = { ...settings, url: `${server.url}${path}` }
    const second = await readWhole(openHttp(after, { folder: folder.path, options: { last: first.source } }))

    expect(second.source).not.toBeNull()
    expect(server.requests[1]?.headers).not.toHaveProperty('if-none-match')
  })

  // The first page may stay the same while somebody on the second one leaves.
  test('is fetched again when it had several pages', async () => {
    await using server = await startHrServer((request, response) => {
      const next = request.url === '/people' ? '/people?page=2' : null
      json({ people: [{ id: request.url }], next }, { etag })(request, response)
    })
    await using folder = await temporaryFolder()
    const settings = { url: `${server.url}/people`, records: '/people', next: '/next' }

    const reading = await readWhole(openHttp(settings, { folder: folder.path }))

    expect(reading.source).not.toHaveProperty('validator')
  })

  test('is no answer to somebody who did not ask', async () => {
    await using server = await startHrServer((_request, response) => response.writeHead(304).end())
    await using folder = await temporaryFolder()

    const opening = openHttp({ url: server.url }, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining('gave an unexpected answer (status 304)'),
    })
  })
})

/** A reading that was read to its end. */
async function readWhole(opening: Promise<Reading>): Promise<Reading> {
  const reading = await opening
  await rowsOf(reading)
  return reading
}
