import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import {
  type Answer,
  csv,
  type HttpSettings,
  json,
  openHttp,
  pagesOfPeople,
  recordsOf,
  rowsOf,
  startHrServer,
} from '../../helpers/sources/hr-server.ts'

const unreadable = { code: 'source_unreadable' }

describe('a JSON list over HTTP', () => {
  test('gives every record of the list, with the page and the number where it stands', async () => {
    await using server = await startHrServer(
      json([
        { id: 7, name: { first: 'Ana' } },
        { id: '008', active: true },
      ]),
    )
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: `${server.url}/api/people?token=1` }, { folder: folder.path })
    const rows = await rowsOf(reading)

    expect(reading).toMatchObject({
      mode: 'snapshot',
      asOf: '2026-11-20T12:00:00.000Z',
      sparse: true,
      headers: ['id', 'name.first', 'active'],
      source: { name: `127.0.0.1:${server.port}/api/people`, version: expect.stringMatching(/^sha256:/) },
    })
    expect(rows).toEqual([
      { values: ['7', 'Ana', undefined], origin: { file: 'people page 1', line: 1 } },
      { values: ['008', undefined, 'true'], origin: { file: 'people page 1', line: 2 } },
    ])
    expect(server.requests[0]?.path).toBe('/api/people?token=1')
  })

  test('has the size of its cells, however the server writes and pages them', async () => {
    const people = [
      { id: '7', name: { first: 'Ana' }, left: null },
      { id: '8', name: { first: 'Jürgen' }, left: '2026-11-19' },
    ]
    const written: readonly Answer[] = [
      json(people),
      json(JSON.stringify(people, null, 8)),
      json(people.map(({ id, name, left }) => ({ left, name, id }))),
    ]
    for (const answer of written) {
      await using server = await startHrServer(answer)
      await using folder = await temporaryFolder()
      const reading = await openHttp({ url: server.url }, { folder: folder.path })
      await rowsOf(reading)

      expect(reading.cellBytes?.()).toBe('7Ana8Juergen20261119'.length)
    }
  })

  test('follows the addresses of further pages to the end, relative or absolute', async () => {
    await using server = await startHrServer((request, response) => {
      const last = request.url !== '/v1/people?page=2'
      const next = request.url === '/v1/people' ? '?page=2' : `${'http://'}${request.headers.host}/v1/rest`
      const page = {
        data: { items: [{ id: request.url }] },
        links: last && request.url !== '/v1/people' ? {} : { next },
      }
      json(page)(request, response)
    })
    await using folder = await temporaryFolder()
    const settings = { url: `${server.url}/v1/people`, records: '/data/items', next: '/links/next' }

    const reading = await openHttp(settings, { folder: folder.path })

    expect(await recordsOf(reading)).toEqual([{ id: '/v1/people' }, { id: '/v1/people?page=2' }, { id: '/v1/rest' }])
    expect(reading.warnings).toBeUndefined()
  })

  test('sends a token in the parameter that is named for it, beside those of the address', async () => {
    await using server = await startHrServer((request, response) => {
      const cursor = new URL(request.url ?? '', 'http://hr').searchParams.get('cursor')
      json({ people: [{ id: cursor ?? 'first' }], cursor: cursor === null ? 'a&b=/+ü' : '' })(request, response)
    })
    await using folder = await temporaryFolder()
    const url = `${server.url}/people?filter=status%20eq%20A`
    const settings = { url, records: '/people', next: '/cursor', nextParameter: 'cursor' }

    const reading = await openHttp(settings, { folder: folder.path })

    expect(await recordsOf(reading)).toEqual([{ id: 'first' }, { id: 'a&b=/+ü' }])
    expect(server.requests[1]?.path).toBe('/people?filter=status%20eq%20A&cursor=a%26b%3D%2F%2B%C3%BC')
  })

  test('takes a number for a token', async () => {
    await using server = await startHrServer((request, response) => {
      const offset = new URL(request.url ?? '', 'http://hr').searchParams.get('offset')
      json({ people: [{ id: offset ?? '0' }], next: offset === null ? 50 : null })(request, response)
    })
    await using folder = await temporaryFolder()
    const settings = { url: server.url, records: '/people', next: '/next', nextParameter: 'offset' }

    const reading = await openHttp(settings, { folder: folder.path })

    expect(await recordsOf(reading)).toEqual([{ id: '0' }, { id: '50' }])
  })

  test('counts records anew on each page, also behind empty ones', async () => {
    await using server = await startHrServer(pagesOfPeople(4, { 2: json({ people: [], next: '?page=3' }) }))
    await using folder = await temporaryFolder()

    const reading = await openHttp(
      { url: `${server.url}/people`, records: '/people', next: '/next' },
      { folder: folder.path },
    )
    const rows = await rowsOf(reading)

    expect(rows.map(({ origin }) => origin)).toEqual([
      { file: 'people page 1', line: 1 },
      { file: 'people page 3', line: 1 },
      { file: 'people page 4', line: 1 },
    ])
  })

  test.each<[boolean, unknown[], HttpSettings]>([
    [true, [{ id: 1 }], {}],
    [false, [{ id: 1 }], { missing: 'keep' }],
    [false, [{ id: 1 }], { mode: 'delta' }],
    [false, [], {}],
  ])('has a blank for what a record lacks: %s of %j with %j', async (missingIsBlank, people, settings) => {
    await using server = await startHrServer(json(people))
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: server.url, ...settings }, { folder: folder.path })
    await reading.close?.()

    expect(reading).toMatchObject({ missingIsBlank })
  })

  test('is a reading without rows when nobody is in it', async () => {
    await using server = await startHrServer(json([]))
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: server.url }, { folder: folder.path })

    expect(reading.source).not.toBeNull()
    expect(await rowsOf(reading)).toEqual([])
  })

  test('gives nothing at all when page 7 fails', async () => {
    const broken: Answer = (_request, response) => response.writeHead(404).end()
    await using server = await startHrServer(pagesOfPeople(9, { 7: broken }))
    await using folder = await temporaryFolder()

    const opening = openHttp(
      { url: `${server.url}/people`, records: '/people', next: '/next' },
      { folder: folder.path },
    )

    await expect(opening).rejects.toMatchObject({ ...unreadable, message: expect.stringContaining('page 7 of http') })
    expect(server.requests).toHaveLength(7)
    expect(await readdir(join(folder.path, 'spool'))).toEqual([])
  })

  test('leaves nothing on the disk once it was read or abandoned', async () => {
    await using server = await startHrServer(json(Array.from({ length: 5000 }, (_, id) => ({ id }))))
    await using folder = await temporaryFolder()
    const spool = join(folder.path, 'spool')

    const whole = await openHttp({ url: server.url }, { folder: folder.path })
    const during = (await readdir(spool)).filter((name) => name.endsWith('.part'))
    const rows = await rowsOf(whole)
    const afterwards = await readdir(spool)
    const reading = await openHttp({ url: server.url }, { folder: folder.path })
    for await (const _slice of reading.rows) break
    await reading.close?.()

    expect(during).toHaveLength(1)
    expect(rows).toHaveLength(5000)
    expect(rows.at(-1)?.values).toEqual(['4999'])
    expect(afterwards).toEqual([])
    expect(await readdir(spool)).toEqual([])
  })

  test.each([
    ['json', json([{ id: '1' }, { id: '2' }])],
    ['csv', csv('id\n1\n2\n')],
  ] as const)('is fetched once for several readers (%s)', async (format, answer) => {
    await using server = await startHrServer(answer)
    await using folder = await temporaryFolder()
    const first = await openHttp({ url: server.url, format }, { folder: folder.path })

    const rows = first.rows[Symbol.asyncIterator]()
    await rows.next()
    const second = await first.reopen?.()
    const again = await Array.fromAsync(second?.rows ?? [])
    await rows.return?.()
    await first.close?.()

    expect(server.requests).toHaveLength(1)
    expect(second).toMatchObject({ source: first.source, asOf: first.asOf, headers: first.headers })
    expect(again.flat().map(({ values }) => values)).toEqual([['1'], ['2']])
    expect(second?.cellBytes?.()).toBe(2)
  })

  test('keeps text with every kind of line end apart from its neighbours', async () => {
    const people = [{ note: 'a\nb\r\nc\u2028d\u2029e' }, { note: 'next' }]
    await using server = await startHrServer(json(people))
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: server.url }, { folder: folder.path })

    expect(await recordsOf(reading)).toEqual(people)
  })

  test('carries a record that cannot be spread out as a row with a fault', async () => {
    await using server = await startHrServer(json([{ id: 1 }, 'Ana', { id: 3 }]))
    await using folder = await temporaryFolder()

    const rows = await rowsOf(await openHttp({ url: server.url }, { folder: folder.path }))

    expect(rows.map(({ fault }) => fault)).toEqual([
      undefined,
      { column: null, reason: 'the record is no object' },
      undefined,
    ])
  })

  test('has another version as soon as a byte differs, and the same one otherwise', async () => {
    const answers = [json([{ id: 1 }]), json([{ id: 1 }]), json([{ id: 2 }])]
    await using server = await startHrServer((request, response) => answers.shift()?.(request, response))
    await using folder = await temporaryFolder()

    const readings = [
      await openHttp({ url: server.url }, { folder: folder.path }),
      await openHttp({ url: server.url }, { folder: folder.path }),
      await openHttp({ url: server.url }, { folder: folder.path }),
    ]
    await Promise.all(readings.map(rowsOf))

    const [first, second, third] = readings.map(({ source }) => source?.version)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })
})

describe('the as-of time of a list', () => {
  test.each([
    ['2026-11-19T23:30:00+01:00', '2026-11-19T22:30:00.000Z'],
    ['2026-11-20T01:00:00Z', '2026-11-20T01:00:00.000Z'],
    ['2026-11-20T01:00:00', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20', '2026-11-19T23:00:00.000Z'],
  ])('when its first page says so: %s', async (stated, expected) => {
    await using server = await startHrServer(json({ people: [], meta: { at: stated } }))
    await using folder = await temporaryFolder()
    const asOf = { from: 'pointer', pointer: '/meta/at' } as const
    const settings = { url: server.url, records: '/people', asOf, timeZone: 'Europe/Berlin' }

    const reading = await openHttp(settings, { folder: folder.path })
    await rowsOf(reading)

    expect(reading.asOf).toBe(expected)
  })

  test.each([
    ['nowhere', {}, 'holds no time at /at'],
    ['as something else', { at: 'yesterday' }, 'holds no time at /at'],
    ['as an object', { at: {} }, 'holds no time at /at'],
    ['ahead of this machine', { at: '2026-11-22T00:00:00Z' }, 'lies ahead of this machine'],
  ])('never at a time that stands %s', async (_case, meta, expected) => {
    await using server = await startHrServer(json({ people: [], ...meta }))
    await using folder = await temporaryFolder()
    const settings = { url: server.url, records: '/people', asOf: { from: 'pointer', pointer: '/at' } as const }

    const opening = openHttp(settings, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({ ...unreadable, message: expect.stringContaining(expected) })
  })
})
