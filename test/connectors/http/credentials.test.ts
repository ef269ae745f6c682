import { describe, expect, test } from 'vitest'
import { httpConnector } from '../../../src/connectors/http/open.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { httpSource, json, openHttp, rowsOf, startHrServer } from '../../helpers/sources/hr-server.ts'

const key = 'Secret-key'

describe('credentials', () => {
  test.each([
    ['bearer', { bearer: 'set' }, { bearer: key }, { authorization: `Bearer ${key}` }],
    [
      'basic',
      { basic: { username: 'zoë', password: 'set' } },
      { 'basic.password': 'p:ä' },
      { authorization: `Basic ${Buffer.from('zoë:p:ä').toString('base64')}` },
    ],
    [
      'basic with the key as user name',
      { basic: { username: 'set', password: 'set' } },
      { 'basic.username': key, 'basic.password': 'x' },
      { authorization: `Basic ${Buffer.from(`${key}:x`).toString('base64')}` },
    ],
    ['apiKey', { apiKey: { header: 'X-API-Key', value: 'set' } }, { 'apiKey.value': key }, { 'x-api-key': key }],
    [
      'apiKey in the usual header',
      { apiKey: { header: 'Authorization', value: 'set' } },
      { 'apiKey.value': `Token token=${key}` },
      { authorization: `Token token=${key}` },
    ],
    [
      'plain headers',
      { headers: { 'X-Company': 'acme', Accept: 'application/vnd.hr+json' } },
      {},
      { 'x-company': 'acme', accept: 'application/vnd.hr+json' },
    ],
  ])('travel with the request: %s', async (_case, settings, secrets, expected) => {
    await using server = await startHrServer(json([]))
    await using folder = await temporaryFolder()

    await rowsOf(await openHttp({ url: server.url, ...settings }, { folder: folder.path, secrets }))

    expect(server.requests[0]?.headers).toMatchObject(expected)
  })

  test('are read anew for every page', async () => {
    await using server = await startHrServer((request, response) => {
      json({ people: [{ id: request.url }], next: request.url === '/1' ? '/2' : null })(request, response)
    })
    await using folder = await temporaryFolder()
    let reads = 0
    const secret = () => ({ read: async () => `token-${++reads}` })
    const source = httpSource({ url: `${server.url}/1`, records: '/people', next: '/next', bearer: 'set' })
    const connector = httpConnector(source, { baseDir: folder.path, spoolDir: folder.path, secret })

    const { signal } = new AbortController()
    const reading = await connector.open({ now: () => new Date(), signal, findDecided: async () => new Set() })
    await rowsOf(reading)

    // Two pages, which are read twice.
    const expected = [1, 2, 3, 4].map((number) => `Bearer token-${number}`)
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(expected)
  })

  test.each([
    ['a line end', `${key}\nx`],
    ['a sign beyond ASCII', `${key}ü`],
    ['nothing', ''],
  ])('that hold %s are refused before anything is sent, and are not shown', async (_case, text) => {
    await using server = await startHrServer(json([]))
    await using folder = await temporaryFolder()

    const opening = openHttp({ url: server.url, bearer: 'set' }, { folder: folder.path, secrets: { bearer: text } })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.not.stringContaining(key),
    })
    expect(server.requests).toEqual([])
  })

  test('and the query of the address appear in no refusal', async () => {
    await using server = await startHrServer((_request, response) => response.writeHead(401).end())
    await using folder = await temporaryFolder()

    const opening = openHttp(
      { url: `${server.url}/people?key=${key}`, bearer: 'set' },
      { folder: folder.path, secrets: { bearer: key } },
    )

    await expect(opening).rejects.toMatchObject({ message: expect.not.stringContaining(key) })
    await expect(opening).rejects.toThrow(/\/people does not accept the credentials/)
  })
})
