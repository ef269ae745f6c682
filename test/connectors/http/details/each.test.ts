import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { detailFailure, readDetails, routes, type SettingsFor } from '../../../helpers/sources/hr-details.ts'
import { type Answer, type HttpSettings, json, openHttp, startHrServer } from '../../../helpers/sources/hr-server.ts'

type Each = NonNullable<HttpSettings['each']>[number]

function requested(more: Partial<Each> = {}, settings: HttpSettings = {}): SettingsFor {
  return (url) => ({
    url: `${url}/persons`,
    records: '/data',
    each: [{ url: `${url}/persons/{id}/employments`, records: '/data', as: 'employment', ...more }],
    ...settings,
  })
}

/** People whose employments are below their own addresses. */
function people(count: number, employments: (id: string) => Answer = (id) => json({ data: [{ of: id }] })): Answer {
  const data = Array.from({ length: count }, (_, at) => ({ id: `P${at + 1}` }))
  return (request, response) => {
    const [, , id] = (request.url ?? '').split('/')
    const answer = id === undefined ? json({ data }) : employments(decodeURIComponent(id))
    answer(request, response)
  }
}

const status =
  (code: number): Answer =>
  (_request, response) =>
    response.writeHead(code).end()

describe('a request for each record', () => {
  test('adds the detail of the answer, as in the second request of Personio', async () => {
    const answer = people(2, (id) => json({ data: [{ of: id, weekly_hours: 40, end: null }], _meta: {} }))

    const { records, reading } = await readDetails(answer, requested())

    expect(records).toEqual([
      { id: 'P1', 'employment.of': 'P1', 'employment.weekly_hours': '40', 'employment.end': '' },
      { id: 'P2', 'employment.of': 'P2', 'employment.weekly_hours': '40', 'employment.end': '' },
    ])
    expect(reading.source?.end).toMatch(
      /; employment of \S+\/persons\/\{id\}\/employments: 2 answers, each of them whole$/,
    )
  })

  test('may send the key in the body, as the individuals of Finch', async () => {
    const bodies: unknown[] = []
    const answers = routes({
      '/directory': json({ individuals: [{ id: 'a' }, { id: 'b"c' }] }),
      '/individual': async (request, response) => {
        const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
        bodies.push(body)
        const [{ individual_id: id }] = body.requests
        json({ responses: [{ individual_id: id, code: 200, body: { first_name: `Name ${id}` } }] })(request, response)
      },
    })
    const settings: SettingsFor = (url) => ({
      url: `${url}/directory`,
      records: '/individuals',
      each: [
        {
          ...{ url: `${url}/individual`, method: 'POST', records: '/responses/0/body', as: 'individual' },
          body: { requests: [{ individual_id: '{id}' }], options: { include: ['all'], max: 5 }, key: '{id}' },
        },
      ],
    })

    const { records } = await readDetails(answers, settings, { secrets: { 'each.0.body.key': 'secret of {id}' } })

    expect(records.map((record) => record['individual.first_name'])).toEqual(['Name a', 'Name b"c'])
    const others = { options: { include: ['all'], max: 5 }, key: 'secret of {id}' }
    expect(bodies).toContainEqual({ requests: [{ individual_id: 'b"c' }], ...others })
  })

  test('keeps the order of the records, however late an answer comes, and waits for four at most', async () => {
    let running = 0
    let most = 0
    const waiting = new Map<string, () => void>()
    // Each answer but the last waits until the next one was sent.
    const answer = people(23, (id) => async (request, response) => {
      running += 1
      most = Math.max(most, running)
      const number = Number(id.slice(1))
      if (number % 4 !== 0 && number !== 23) await new Promise<void>((resolve) => waiting.set(id, resolve))
      running -= 1
      json({ data: { of: id } })(request, response)
      waiting.get(`P${number - 1}`)?.()
    })

    const { records, requests } = await readDetails(answer, requested())

    expect(records.map((record) => record['employment.of'])).toEqual(records.map(({ id }) => id))
    expect(records).toHaveLength(23)
    expect(requests).toHaveLength(24)
    expect(most).toBe(4)
  })

  test.each([
    ['a/b', '/persons/a%2Fb/x?of=a%2Fb'],
    ['a?b#c', '/persons/a%3Fb%23c/x?of=a%3Fb%23c'],
    ['a&b=%41', '/persons/a%26b%3D%2541/x?of=a%26b%3D%2541'],
    ['ü ..', '/persons/%C3%BC%20../x?of=%C3%BC%20..'],
    ['..\\..', '/persons/..%5C../x?of=..%5C..'],
    ['@evil.example', '/persons/%40evil.example/x?of=%40evil.example'],
    ['{id}', '/persons/%7Bid%7D/x?of=%7Bid%7D'],
  ])('encodes %j in the address', async (id, path) => {
    const answer: Answer = (request, response) =>
      json({ data: request.url === '/persons' ? [{ id }] : { ok: true } })(request, response)
    const settings: SettingsFor = (url) => requested({ url: `${url}/persons/{id}/x?of={id}` })(url)

    const { requests } = await readDetails(answer, settings)

    expect(requests[1]?.path).toBe(path)
  })

  test.each([['..'], ['.'], ['half a character \ud800']])('refuses %j in the path', async (id) => {
    const failure = await detailFailure(json({ data: [{ id }] }), requested())

    expect(failure).toMatchObject({
      message: expect.stringMatching(
        /\/persons\/\{id\}\/employments for persons page 1 record 1: its columns make no address/,
      ),
    })
  })

  test('counts what is read against maxBytes, whatever missingDetails says', async () => {
    const answer = people(10, (id) => json({ data: { id, text: 'x'.repeat(400) } }))

    const failure = await detailFailure(answer, requested({}, { maxBytes: 2000, missingDetails: 'cell' }))

    expect(failure).toMatchObject({ message: expect.stringMatching(/sends more than 2000 bytes/) })
  })

  test('changes the version of the source when its answer changes', async () => {
    const versions: (string | undefined)[] = []
    let hours = 40
    await using folder = await temporaryFolder()
    await using server = await startHrServer(
      people(3, (id) => (request, response) => {
        json({ data: { of: id, hours: id === 'P2' ? hours : 40 } })(request, response)
      }),
    )
    for (hours of [40, 40, 20]) {
      const reading = await openHttp(requested()(server.url), { folder: folder.path })
      versions.push(reading.source?.version)
      await reading.close?.()
    }

    expect(versions[1]).toBe(versions[0])
    expect(versions[2]).not.toBe(versions[0])
  })

  test('leaves records alone that are no objects', async () => {
    const answers = routes({ '/persons': json({ data: ['Ana'] }) })

    const { rows, requests } = await readDetails(answers, requested())

    expect(rows).toMatchObject([{ fault: { column: null, reason: 'the record is no object' } }])
    expect(requests).toHaveLength(1)
  })

  test('may need a column of an earlier detail', async () => {
    const answers = routes({
      '/persons': json({ data: [{ id: 1 }] }),
      '/jobs/1': json({ data: { grade: 'G' } }),
      '/grades/G': json({ data: { name: 'Senior' } }),
    })
    const settings: SettingsFor = (url) => ({
      ...{ url: `${url}/persons`, records: '/data' },
      each: [
        { url: `${url}/jobs/{id}`, records: '/data', as: 'job' },
        { url: `${url}/grades/{job.grade}`, records: '/data', as: 'grade' },
      ],
    })

    const { records } = await readDetails(answers, settings)

    expect(records).toEqual([{ id: '1', 'job.grade': 'G', 'grade.name': 'Senior' }])
  })
})

describe('without its detail, a record', () => {
  const absences: readonly (readonly [string, Answer, RegExp])[] = [
    ['a status 404', status(404), /employments answers with status 404/],
    ['a status 410', status(410), /employments answers with status 410/],
    ['a status 204', status(204), /employments answers with status 204/],
    ['an empty list', json({ data: [] }), /employments holds nothing about it/],
    ['null', json({ data: null }), /employments holds nothing about it/],
  ]

  test.each(absences)('refuses the list: %s', async (_case, absence, reason) => {
    const answer = people(5, (id) => (id === 'P3' ? absence : json({ data: { of: id } })))

    const failure = await detailFailure(answer, requested())

    expect(failure).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/^persons page 1 record 3 has no employment: /),
    })
    expect(failure).toMatchObject({ message: expect.stringMatching(reason) })
  })

  test.each(absences)('has blank columns if missingDetails is blank: %s', async (_case, absence) => {
    const answer = people(5, (id) => (id === 'P3' ? absence : json({ data: { of: id } })))

    const { records, reading, warnings } = await readDetails(answer, requested({}, { missingDetails: 'blank' }))

    expect(records[2]).toEqual({ id: 'P3', 'employment.of': '', employment: '' })
    expect(reading.partialDetails).toEqual([])
    expect(warnings).toEqual([])
  })

  test.each(absences)('lacks its columns if missingDetails is cell: %s', async (_case, absence) => {
    const answer = people(5, (id) => (id === 'P3' ? absence : json({ data: { of: id } })))

    const { records, rows, reading } = await readDetails(answer, requested({}, { missingDetails: 'cell' }))

    expect(records[2]).toEqual({ id: 'P3' })
    expect(rows.map(({ missingDetails }) => missingDetails)).toEqual([
      ...[undefined, undefined],
      [{ name: 'employment', reason: 'the detail employment is missing' }],
      ...[undefined, undefined],
    ])
    expect(reading.partialDetails).toEqual(['employment'])
  })

  test('has no members of a list that is blank', async () => {
    const answer = people(2, (id) => (id === 'P2' ? status(404) : json({ data: [{ of: id }] })))

    const { records } = await readDetails(answer, requested({ take: 'all' }, { missingDetails: 'blank' }))

    expect(records).toEqual([
      { id: 'P1', 'employment.0.of': 'P1' },
      { id: 'P2', 'employment.0.of': '' },
    ])
  })

  test.each([[''], ['  '], [null], [undefined], [{ a: 1 }]])('is not asked for if its column is %j', async (id) => {
    const answer: Answer = (request, response) =>
      json({ data: request.url === '/persons' ? [{ id: 'P1' }, { id }] : { ok: true } })(request, response)

    const { rows, requests } = await readDetails(answer, requested({}, { missingDetails: 'cell' }))

    expect(requests).toHaveLength(2)
    expect(rows[1]?.missingDetails).toHaveLength(1)
  })

  test('that is blank for everybody gives a warning', async () => {
    const { warnings } = await readDetails(
      people(3, () => status(404)),
      requested({}, { missingDetails: 'blank' }),
    )

    expect(warnings).toEqual([
      expect.stringMatching(/^employment: no record has it, so that it is blank for everybody/),
    ])
  })

  test('that is blank for all of more than 20 records refuses the list', async () => {
    const read = (count: number) =>
      detailFailure(
        people(count, () => status(404)),
        requested({}, { missingDetails: 'blank' }),
      )

    expect(await read(21)).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/^no record has its employment: check that the credentials may read it/),
    })
    await expect(read(20)).rejects.toThrow('it was read')
  })

  test('that everybody lacks refuses the list, if missingDetails is cell', async () => {
    const failure = await detailFailure(
      people(3, () => status(404)),
      requested({}, { missingDetails: 'cell' }),
    )

    expect(failure).toMatchObject({ message: expect.stringMatching(/^no record has its employment: /) })
  })
})

describe('a detail that cannot be read', () => {
  const failures: readonly (readonly [string, Answer, RegExp])[] = [
    ['a refusal', status(403), /\(status 403\)/],
    ['trouble', status(500), /\(status 500\)/],
    ['an answer that is cut', json('{"data": {"of": "P3"'), /is not valid JSON/],
    ['a text in place of an object', json({ data: 'employed' }), /expected an object or a list of objects at \/data/],
    ['a text in the list', json({ data: [{ of: 'P3' }, 'x'] }), /expected an object or a list of objects at \/data/],
    ['nothing where it should be', json({ items: [] }), /at \/data, found nothing: check records of each/],
    ['several details', json({ data: [{ of: 1 }, { of: 2 }] }), /has no certain employment: there are several/],
    ['a part of them', json({ data: [{ of: 'P3' }], has_more: true }), /\/has_more says that there is more/],
    ['a next page', json({ data: [{ of: 'P3' }], links: { next: '/2' } }), /\/links\/next names a next page/],
    ['a total of more', json({ data: [{ of: 'P3' }], total: 2 }), /\/total counts 2 records, and 1 was read/],
  ]

  test.each(failures)('refuses the list: %s', async (_case, failing, reason) => {
    for (const missingDetails of ['fail', 'blank'] as const) {
      const answer = people(5, (id) => (id === 'P3' ? failing : json({ data: { of: id } })))

      const failure = await detailFailure(answer, requested({}, { missingDetails }))

      expect(failure).toMatchObject({ message: expect.stringMatching(reason) })
      expect(failure).toMatchObject({ message: expect.stringContaining('persons page 1 record 3') })
      expect(failure).not.toMatchObject({ message: expect.stringContaining('P3') })
    }
  })

  test.each(failures)(
    'costs the columns of its record if missingDetails is cell: %s',
    async (_case, failing, reason) => {
      const answer = people(5, (id) => (id === 'P3' ? failing : json({ data: { of: id } })))

      const { records, rows, warnings } = await readDetails(answer, requested({}, { missingDetails: 'cell' }))

      expect(records[2]).toEqual({ id: 'P3' })
      expect(rows[2]?.missingDetails).toEqual([
        { name: 'employment', reason: 'the detail employment could not be read' },
      ])
      expect(records[3]).toEqual({ id: 'P4', 'employment.of': 'P4' })
      expect(warnings).toEqual([expect.stringMatching(/^employment: it could not be read for 1 of 5 records; first: /)])
      expect(warnings[0]).toMatch(reason)
      expect(warnings[0]).not.toContain('P3')
    },
  )

  test.each([[500], [202], ['200 '], [null], [undefined], [['200']]])(
    'is one whose answer does not state its success, but %j, with an error in place of the detail',
    async (code) => {
      const answer = people(3, (id) =>
        json({ answers: [id === 'P2' ? { code, body: { name: 'P2 failed' } } : { code: 200, body: { of: id } }] }),
      )
      const each = { records: '/answers/0/body', ok: { at: '/answers/0/code', is: '200' } }

      const { records, rows } = await readDetails(answer, requested(each, { missingDetails: 'cell' }))
      expect(records).toEqual([{ id: 'P1', 'employment.of': 'P1' }, { id: 'P2' }, { id: 'P3', 'employment.of': 'P3' }])
      expect(rows[1]?.missingDetails).toEqual([
        { name: 'employment', reason: 'the detail employment could not be read' },
      ])
      for (const missingDetails of ['fail', 'blank'] as const)
        expect(await detailFailure(answer, requested(each, { missingDetails }))).toMatchObject({
          message: expect.stringMatching(/record 2: \/answers\/0\/code is not 200/),
        })
    },
  )

  test('refuses the list after many in a row, because the system is in trouble', async () => {
    const answer = people(60, (id) => (Number(id.slice(1)) > 10 ? status(500) : json({ data: { of: id } })))
    const requests: string[] = []
    const counting: Answer = (request, response) => {
      requests.push(request.url ?? '')
      answer(request, response)
    }

    const failure = await detailFailure(counting, requested({}, { missingDetails: 'cell' }))

    expect(failure).toMatchObject({ message: expect.stringMatching(/record 30 is in trouble/) })
    expect(requests.length).toBeLessThan(40)
  })

  test('is over when the run is stopped, whatever missingDetails says', async () => {
    const stop = new AbortController()
    const answer = people(3, (id) => (request, response) => {
      if (id === 'P2') stop.abort(new Error('stopped'))
      else json({ data: { of: id } })(request, response)
    })

    const reading = readDetails(answer, requested({}, { missingDetails: 'cell' }), { signal: stop.signal })

    await expect(reading).rejects.toThrow('stopped')
  })

  test('is over when the time of the whole reading is, whatever missingDetails says', async () => {
    const answer = people(3, (id) => (id === 'P2' ? () => {} : json({ data: { of: id } })))

    const failure = await detailFailure(answer, requested({}, { missingDetails: 'cell', totalTimeoutMs: 300 }))

    expect(failure).toMatchObject({ message: expect.stringMatching(/took longer than 300 ms/) })
  })
})

test('a join and a request for each record go together, and each may be missing', async () => {
  const answers = routes({
    '/persons': json({ data: [{ id: 1 }, { id: 2 }, { id: 3 }] }),
    '/jobs': json([
      { of: 1, title: 'Cook' },
      { of: 2, title: 'Smith' },
    ]),
    '/persons/1/home': json({ town: 'Bonn' }),
    '/persons/2/home': status(500),
    '/persons/3/home': json({ town: 'Kiel' }),
  })
  const settings: SettingsFor = (url) => ({
    ...{ url: `${url}/persons`, records: '/data', missingDetails: 'cell' },
    join: [{ url: `${url}/jobs`, on: '/of', with: 'id', as: 'job' }],
    each: [{ url: `${url}/persons/{id}/home`, as: 'home' }],
  })

  const { records, rows } = await readDetails(answers, settings)

  expect(records.map((record) => [record['job.title'], record['home.town']])).toEqual([
    ['Cook', 'Bonn'],
    ['Smith', undefined],
    [undefined, 'Kiel'],
  ])
  expect(rows.map(({ missingDetails = [] }) => missingDetails.map(({ name }) => name))).toEqual([[], ['home'], ['job']])
})
