import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { detailFailure, readDetails, routes, type SettingsFor } from '../../../helpers/sources/hr-details.ts'
import { type HttpSettings, json, openHttp, startHrServer } from '../../../helpers/sources/hr-server.ts'

type Join = NonNullable<HttpSettings['join']>[number]

const persons = [
  { employeeId: 'A1', firstName: 'Ana' },
  { employeeId: 'B2', firstName: 'Bo' },
]
const employments = [
  { employeeId: 'B2', status: 'A', start: '2020-01-01' },
  { employeeId: 'A1', status: 'T', start: '2019-05-01' },
]

function joined(more: Partial<Join> = {}, settings: HttpSettings = {}): SettingsFor {
  return (url) => ({
    url: `${url}/persons`,
    join: [{ url: `${url}/employments`, on: '/employeeId', with: 'employeeId', as: 'employment', ...more }],
    ...settings,
  })
}

function lists(people: unknown, details: unknown) {
  return routes({ '/persons': json(people), '/employments': json(details) })
}

describe('a further list', () => {
  test('gives each record the record with its key', async () => {
    const { reading, records, warnings } = await readDetails(lists(persons, employments), joined())

    expect(records).toEqual([
      {
        ...persons[0],
        'employment.employeeId': 'A1',
        'employment.status': 'T',
        'employment.start': '2019-05-01',
      },
      {
        ...persons[1],
        'employment.employeeId': 'B2',
        'employment.status': 'A',
        'employment.start': '2020-01-01',
      },
    ])
    expect(warnings).toEqual([])
    expect(reading.source?.end).toMatch(
      /^the only page: nothing .* more; employment of http:\S+\/employments: the only page: nothing .* more$/,
    )
  })

  test('keeps the positions of the first list', async () => {
    const { rows } = await readDetails(lists(persons, employments), joined())

    expect(rows.map(({ origin }) => origin)).toEqual([
      { file: 'persons page 1', line: 1 },
      { file: 'persons page 1', line: 2 },
    ])
  })

  test('finds keys as they are written, numbers too', async () => {
    const people = '[{"id": 7}, {"id": "007"}, {"id": 12345678901234567890}]'
    const details = '[{"of": "7", "n": 1}, {"of": "007", "n": 2}, {"of": 12345678901234567890, "n": 3}]'
    const settings = joined({ on: '/of', with: 'id' })

    const { records } = await readDetails(lists(people, details), settings)

    expect(records.map((record) => record['employment.n'])).toEqual(['1', '2', '3'])
  })

  test('serves several records with the same key', async () => {
    const people = [...persons, { employeeId: 'A1', firstName: 'Ana again' }]

    const { records } = await readDetails(lists(people, employments), joined())

    expect(records.map((record) => record['employment.status'])).toEqual(['T', 'A', 'T'])
  })

  test('may hold records of nobody, which are counted', async () => {
    const details = [...employments, { employeeId: 'C3' }, { employeeId: null }, { position: 'vacant' }]

    const { warnings } = await readDetails(lists(persons, details), joined())

    expect(warnings).toEqual([
      expect.stringMatching(/^employment: 3 records of http:\S+\/employments belong to no record of the first list$/),
    ])
  })

  test('may need a key that another list gave', async () => {
    const answers = routes({
      '/persons': json([{ id: 1 }]),
      '/jobs': json([{ person: 1, grade: { id: 'G' } }]),
      '/grades': json([{ id: 'G', name: 'Senior' }]),
    })
    const settings: SettingsFor = (url) => ({
      url: `${url}/persons`,
      join: [
        { url: `${url}/jobs`, on: '/person', with: 'id', as: 'job' },
        { url: `${url}/grades`, on: '/id', with: 'job.grade.id', as: 'grade' },
      ],
    })

    const { records } = await readDetails(answers, settings)

    expect(records[0]).toMatchObject({ 'grade.name': 'Senior' })
  })

  test('is fetched by POST with its own body, in which texts are secrets', async () => {
    const bodies: string[] = []
    const answers = routes({
      '/persons': json(persons),
      '/employments': async (request, response) => {
        bodies.push(`${request.method} ${Buffer.concat(await request.toArray())}`)
        json(employments)(request, response)
      },
    })
    const body = { key: 'placeholder', active: false }

    await readDetails(answers, joined({ method: 'POST', body }), { secrets: { 'join.0.body.key': 's3cret' } })

    expect(bodies).toEqual(['POST {"key":"s3cret","active":false}'])
  })

  test('changes the version of the source when it changes, and its size counts', async () => {
    const versions: (string | undefined)[] = []
    const sizes: number[] = []
    await using folder = await temporaryFolder()
    let end = '2026-01-31'
    await using server = await startHrServer((request, response) => {
      const details = persons.map(({ employeeId }) => ({ employeeId, end }))
      lists(persons, details)(request, response)
    })
    for (const date of ['2026-01-31', '2026-01-31', '2026-02-28']) {
      end = date
      const reading = await openHttp(joined()(server.url), { folder: folder.path })
      versions.push(reading.source?.version)
      sizes.push(reading.source?.bytes ?? 0)
      await reading.close?.()
    }

    expect(versions[1]).toBe(versions[0])
    expect(versions[2]).not.toBe(versions[0])
    expect(sizes[0]).toBeGreaterThan(JSON.stringify(persons).length)
    expect(await readdir(join(folder.path, 'spool'))).toEqual([])
  })
})

describe('several records of a further list with the same key', () => {
  const ends = (...values: unknown[]) => values.map((end, n) => ({ employeeId: 'A1', n, end }))
  const chosen = async (take: Join['take'], details: unknown) => {
    const { records } = await readDetails(lists([{ employeeId: 'A1' }], details), joined({ take }))
    return records[0]?.['employment.n']
  }

  test.each<[Join['take'], unknown[], string]>([
    ['first', ['2021-01-01', '2022-01-01'], '0'],
    ['latest by end', ['2021-01-01', '2022-01-01', '2020-01-01'], '1'],
    ['earliest by end', ['2021-01-01', '2022-01-01', '2020-01-01'], '2'],
    ['latest by end', ['2021-01-01T10:00:00+02:00', '2021-01-01T09:00:00Z'], '1'],
    ['latest by end', ['2021-01-01T10:00:00.5', '2021-01-01T10:00:00.10'], '0'],
    ['latest by end', ['no date, and the only one'], '0'],
    ['latest by end', ['2026-11-20', '2026-12-01'], '1'],
    ['current by end', ['2026-11-21', '2025-01-01', '2026-11-20', '2026-12-01'], '2'],
    ['current by end', ['2026-12-01', '2026-11-21'], '1'],
    ['current by end', ['2026-01-01T00:00:00', '2026-11-20T23:59:59', '2026-11-21T00:00:00'], '1'],
    ['current by end', ['2026-11-20T23:59:59Z', '2026-11-21T01:30:00+02:00', '2026-11-21T00:00:00Z'], '0'],
  ])('%s chooses among %j', async (take, values, expected) => {
    expect(await chosen(take, ends(...values))).toBe(expected)
  })

  test('latest by looks below the record', async () => {
    const details = [
      { employeeId: 'A1', n: 0, period: { from: '2021-01-01' } },
      { employeeId: 'A1', n: 1, period: { from: '2022-01-01' } },
    ]

    expect(await chosen('latest by period.from', details)).toBe('1')
  })

  test('all become a list', async () => {
    const { records, reading } = await readDetails(
      lists(persons, [...employments, { employeeId: 'B2', status: 'L' }]),
      joined({ take: 'all' }),
    )

    expect(records.map((record) => [record['employment.0.status'], record['employment.1.status']])).toEqual([
      ['T', ''],
      ['A', 'L'],
    ])
    expect(reading.headers).toContain('employment.1.status')
  })

  test.each<[Join['take'], unknown[]]>([
    ['only', ['2021-01-01', '2022-01-01']],
    ['latest by end', ['2021-01-01', '2021-01-01']],
    ['latest by end', ['2021-01-01', null]],
    ['latest by end', ['2021-01-01', ' ']],
    ['current by end', ['2021-01-01', '2021-01-01', '2027-01-01']],
    ['current by end', ['2021-01-01', null]],
    ['latest by missing', ['2021-01-01', '2022-01-01']],
    ['latest by end', ['31.12.2021', '01.01.2022']],
    ['latest by end', ['20211231', '20220101']],
    ['latest by end', ['2021-02-30', '2022-01-01']],
    ['latest by end', ['2021-01-01', '2022-01-01T10:00:00Z']],
    ['earliest by end', [{ year: 2021 }, { year: 2022 }]],
  ])('%s refuses to choose among %j', async (take, values) => {
    const failure = await detailFailure(lists([{ employeeId: 'A1' }], ends(...values)), joined({ take }))

    expect(failure).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/^persons page 1 record 1 has no certain employment: there are several, and /),
    })
  })
})

describe('a further list is refused', () => {
  test.each<[string, unknown, Partial<Join>, RegExp]>([
    [
      'that states that there is more',
      { items: employments, hasMore: true },
      { records: '/items' },
      /employments: \/hasMore says that there is more, so this is not the whole list/,
    ],
    [
      'that states more records than it has',
      { items: employments, total: 3 },
      { records: '/items' },
      /employments: \/total counts 3 records, and 2 were read/,
    ],
    ['without a list', { items: {} }, { records: '/items' }, /employments: expected a list of records at \/items/],
    [
      'with a text in place of a record',
      ['B2'],
      {},
      /^employment page 1 record 1 is no object: check records of join$/,
    ],
    [
      'with an object in place of a key',
      [{ employeeId: { id: 1 } }],
      {},
      /^employment page 1 record 1 has no text and no number at \/employeeId: check on of join$/,
    ],
  ])('%s', async (_case, details, settings, message) => {
    const failure = await detailFailure(lists(persons, details), joined(settings))

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(message) })
  })

  test('that the server does not have', async () => {
    const failure = await detailFailure(routes({ '/persons': json(persons) }), joined())

    expect(failure).toMatchObject({ message: expect.stringMatching(/employments knows nothing .*404/) })
  })

  test('that is cut', async () => {
    const answers = routes({
      '/persons': json(persons),
      '/employments': json('[{"employeeId": "A1"}, {"employ'),
    })

    const failure = await detailFailure(answers, joined())

    expect(failure).toMatchObject({ message: expect.stringMatching(/employments is not valid JSON/) })
  })

  test.each([
    ['the name of the detail', { employeeId: 'A1', employment: null }],
    ['a column of the detail', { employeeId: 'A1', 'employment.status': 'A' }],
  ])('if records have %s already', async (_case, person) => {
    const failure = await detailFailure(lists([person], employments), joined())

    expect(failure).toMatchObject({
      message: 'persons page 1 record 1 has its own employment: write another name as as, such as details',
    })
  })

  test('if it exceeds what is left of maxBytes', async () => {
    const failure = await detailFailure(
      lists(persons, [...employments, { employeeId: 'x'.repeat(2000) }]),
      joined({}, { maxBytes: 1500 }),
    )

    expect(failure).toMatchObject({ message: expect.stringMatching(/employments sends more than 1500 bytes/) })
  })
})

test('nothing of a refused source stays on the disk', async () => {
  await using server = await startHrServer(lists(persons, ['B2']))
  await using folder = await temporaryFolder()

  await expect(openHttp(joined()(server.url), { folder: folder.path })).rejects.toThrow('is no object')

  expect(await readdir(join(folder.path, 'spool'))).toEqual([])
})
