import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import {
  type Answer,
  failureOf,
  type HttpSettings,
  json,
  openHttp,
  recordsOf,
  startHrServer,
} from '../../../helpers/sources/hr-server.ts'
import { answerPages, type PagedPeople, settingsOf } from '../../../helpers/sources/paged-people.ts'

const people = ['p1', 'p2', 'p3', 'p4', 'p5']
const nothing: Answer = (_request, response) => {
  response.writeHead(204).end()
}

/** Answers each request with the next answer, and then with the last one again. */
function inTurn(...answers: readonly Answer[]): Answer {
  let index = -1
  return (request, response) => {
    index = Math.min(index + 1, answers.length - 1)
    answers[index]?.(request, response)
  }
}

/** A page with these people. */
function pageOf(ids: readonly string[], meta: object = {}, headers: Readonly<Record<string, string>> = {}): Answer {
  return json({ records: ids.map((id) => ({ id })), ...meta }, headers)
}

/** The IDs that a list gives, how its end was recognised, and the requests. */
async function read(answer: Answer, settings: HttpSettings) {
  await using server = await startHrServer(answer)
  await using folder = await temporaryFolder()
  const waits: string[] = []
  const onWait = (reason: string) => void waits.push(reason)
  const reading = await openHttp(
    { records: '/records', ...settings, url: `${server.url}/people${settings.url ?? ''}` },
    { folder: folder.path, options: { onWait } },
  )
  const ids = (await recordsOf(reading)).map(({ id }) => id)
  return { ids, end: reading.source?.end, asOf: reading.asOf, waits, paths: server.requests.map(({ path }) => path) }
}

function readPeople(paged: PagedPeople) {
  return read(
    answerPages(paged, () => people),
    settingsOf(paged),
  )
}

describe('the requests of a list', () => {
  test.each<[PagedPeople, readonly string[]]>([
    [{ by: 'single', states: 'total', size: 2 }, ['']],
    [{ by: 'next', states: 'total', size: 2 }, ['', '?position=p2', '?position=p4']],
    [{ by: 'link', states: 'stated', size: 2 }, ['', '?position=p2', '?position=p4']],
    // No total of records: it is read twice.
    [{ by: 'next', states: 'nothing', size: 3 }, ['', '?position=p3', '', '?position=p3']],
    [{ by: 'link', states: 'more', size: 3 }, ['', '?position=p3', '', '?position=p3']],
    [{ by: 'link', states: 'nothing', size: 5 }, ['']],
    [{ by: 'cursor', states: 'nothing', size: 2 }, ['?limit=2', '?position=p2&limit=2', '?position=p4&limit=2']],
    [{ by: 'offset', states: 'total', size: 2 }, ['?position=0&limit=2', '?position=2&limit=2', '?position=4&limit=2']],
    [
      { by: 'startIndex', states: 'total', size: 2 },
      ['?position=1&limit=2', '?position=3&limit=2', '?position=5&limit=2'],
    ],
    [
      { by: 'page', states: 'more', size: 3 },
      ['?position=1&limit=3', '?position=2&limit=3', '?position=1&limit=3', '?position=2&limit=3'],
    ],
    [{ by: 'offset', states: 'total', size: 5 }, ['?position=0&limit=5', '?position=5&limit=5']],
  ])('%o', async (paged, expected) => {
    const { ids, paths } = await readPeople(paged)

    expect(ids).toEqual(people)
    expect(paths).toEqual(expected.map((query) => `/people${query}`))
  })

  test('add the parameters to those of the address, with the dollar sign of OData', async () => {
    const answer = pageOf(people, { total: 5 })
    const pages = { by: 'offset', parameter: '$skip', sizeParameter: '$top', size: 9, total: '/total' } as const

    const { paths } = await read(inTurn(answer, pageOf([], { total: 5 })), { url: '?filter=a%20b', pages })

    expect(paths).toEqual(['/people?filter=a%20b&$skip=0&$top=9', '/people?filter=a%20b&$skip=5&$top=9'])
  })

  test('skip what a server gave, not what was requested', async () => {
    const answer = inTurn(pageOf(['p1', 'p2'], { total: 3 }), pageOf(['p3'], { total: 3 }))
    const pages = { by: 'offset', parameter: 'skip', sizeParameter: 'n', size: 500, total: '/total' } as const

    const { paths } = await read(answer, { pages })

    expect(paths).toEqual(['/people?skip=0&n=500', '/people?skip=2&n=500'])
  })

  test('put the position into a body, beside the secrets of it', async () => {
    const bodies: unknown[] = []
    await using server = await startHrServer((request, response) => {
      void text(request).then((body) => {
        bodies.push(JSON.parse(body))
        const offset = bodies.length === 1 ? ['p1', 'p2'] : ['p3']
        pageOf(offset, { total: 3 })(request, response)
      })
    })
    await using folder = await temporaryFolder()
    const parameter = '/params/1/options/offset'
    const reading = await openHttp(
      {
        url: `${server.url}/people`,
        method: 'POST',
        records: '/records',
        body: { key: 'secret', params: ['hr.employee', { fields: ['id'] }] },
        pages: { by: 'offset', in: 'body', parameter, sizeParameter: 'limit', size: 2, total: '/total' },
      },
      { folder: folder.path, secrets: { 'body.key': 'open sesame' } },
    )

    expect(await recordsOf(reading)).toHaveLength(3)
    const params = (offset: number) => ['hr.employee', { fields: ['id'], options: { offset } }]
    expect(bodies).toEqual([0, 2].map((offset) => ({ key: 'open sesame', params: params(offset), limit: 2 })))
  })
})

const byOffset = { by: 'offset', parameter: 'offset' } as const
const byPage = { by: 'page', parameter: 'page' } as const
const byNext = { by: 'next', next: '/next' } as const
const byCursor = { by: 'cursor', next: '/next', parameter: 'after' } as const
const total = '/total'
const more = '/more'

describe('a list states how its end was recognised', () => {
  test.each<[string, Answer, HttpSettings['pages'], string]>([
    [
      'total, last page short',
      inTurn(pageOf(['1', '2'], { total: 3 }), pageOf(['3'], { total: 3 })),
      { ...byOffset, total },
      'page 2 is the last: /total counts 3 records, and 3 were read',
    ],
    [
      'total, last page full',
      inTurn(pageOf(['1', '2'], { total: 2 }), pageOf([], { total: 2 })),
      { ...byOffset, total },
      'page 1 is the last: there is no page 2; /total counts 2 records, and 2 were read',
    ],
    [
      'status 404 behind the end',
      inTurn(pageOf(['1'], { total: 1 }), (_request, response) => response.writeHead(404).end()),
      { ...byPage, total },
      'page 1 is the last: there is no page 2; /total counts 1 record, and 1 was read',
    ],
    [
      'an answer without records behind the end',
      inTurn(pageOf(['1'], { total: 1 }), json({ total: 1 })),
      { ...byPage, total },
      'page 1 is the last: there is no page 2; /total counts 1 record, and 1 was read',
    ],
    [
      'the last page again behind the end',
      inTurn(pageOf(['1'], { total: 2 }), pageOf(['2'], { total: 2 })),
      { ...byPage, total },
      'page 2 is the last: page 3 repeats records; /total counts 2 records, and 2 were read',
    ],
    [
      'the only page again behind the end, shorter than requested',
      pageOf(['1'], { total: 1 }),
      { ...byPage, sizeParameter: 'size', size: 50, total },
      'page 1 is the last: page 2 repeats records; /total counts 1 record, and 1 was read',
    ],
    [
      'a total of pages',
      inTurn(...[['1', '2'], ['3'], ['1', '2'], ['3']].map((ids) => pageOf(ids, {}, { 'x-total-pages': '2' }))),
      { ...byPage, total: { pages: { header: 'X-Total-Pages' } } },
      'page 2 is the last: the header x-total-pages counts 2 pages, and 2 were read; two readings are equal',
    ],
    [
      'empty pages',
      (request, response) => pageOf(request.url === '/people?offset=0' ? ['1', '2'] : [])(request, response),
      byOffset,
      'page 1 is the last: page 2 is empty; page 3 is empty; two readings are equal',
    ],
    [
      'status 204',
      (request, response) =>
        request.url === '/people?offset=0' ? pageOf(['1', '2'])(request, response) : nothing(request, response),
      byOffset,
      'page 1 is the last: page 2 has no content (status 204); page 3 has no content (status 204); two readings are equal',
    ],
    [
      'more',
      inTurn(pageOf(['1'], { more: true, next: 'b' }), pageOf(['2'], { more: false, next: 'b' })),
      { ...byCursor, more },
      'page 2 is the last: /more says that there is no more',
    ],
    [
      'no header Link',
      (request, response) =>
        (request.url === '/people' ? pageOf(['1'], {}, { link: '<?b>; rel=next' }) : pageOf(['2']))(request, response),
      { by: 'link' },
      'page 2 is the last: the header link names no next page; two readings are equal',
    ],
    [
      'an empty page behind the last one',
      inTurn(pageOf(['1'], { next: '?b', total: 1 }), pageOf([], { next: '?c', total: 1 })),
      { ...byNext, total },
      'page 2 is the last: it is empty; /total counts 1 record, and 1 was read',
    ],
    [
      'a first page that may be the only one',
      pageOf(['1']),
      { ...byNext, allowSingle: true },
      'page 1 is the last: /next is missing, as allowSingle allows',
    ],
    [
      'no records',
      json({ records: [], pages: 0 }),
      { by: 'single', total: { pages: '/pages' } },
      'the only page: /pages counts 0 pages, and 1 was read',
    ],
  ])('%s', async (_case, answer, pages, expected) => {
    const { end } = await read(answer, { pages })

    expect(end).toBe(expected)
  })
})

describe('a list is refused', () => {
  const settings = { records: '/records' }

  test.each<[string, Answer, HttpSettings['pages'], string | RegExp, number]>([
    ['without more', pageOf(['1']), { ...byOffset, more }, 'holds neither true nor false at /more', 1],
    [
      'with a text at more',
      pageOf(['1'], { more: 'no' }),
      { ...byNext, more },
      'holds neither true nor false at /more',
      1,
    ],
    ['without a total', pageOf(['1']), { ...byOffset, total }, 'holds no number at /total: check total', 1],
    [
      'with a list as the total',
      pageOf(['1'], { total: [1] }),
      { by: 'single', total },
      'holds no number at /total',
      1,
    ],
    [
      'without the header of the total',
      pageOf(['1']),
      { by: 'single', total: { header: 'X-Total' } },
      'holds no number in the header x-total',
      1,
    ],
    [
      'without a total on a later page',
      inTurn(pageOf(['1', '2'], { total: 3 }), pageOf(['3'])),
      { ...byPage, total },
      /page 2 of .* holds no number at \/total/,
      2,
    ],
    [
      'with more behind the last page, by its own word',
      pageOf(['1'], { more: true, next: null }),
      { ...byNext, more },
      'states at /more that another page follows, and there is no next page',
      1,
    ],
    [
      'with more than the only page',
      pageOf(['1'], { more: true }),
      { by: 'single', more },
      'states at /more that another page follows, and there is no next page',
      1,
    ],
    [
      'with more behind an empty page',
      inTurn(pageOf(['1'], { more: true }), pageOf([], { more: true })),
      { ...byOffset, more },
      'states at /more that another page follows, and there is no record',
      2,
    ],
    [
      'with more behind status 204',
      inTurn(pageOf(['1'], { more: true }), nothing),
      { ...byPage, more },
      'states at /more that another page follows, and there is no content (status 204)',
      2,
    ],
    ['with status 204 first', nothing, byOffset, 'has nothing to give (status 204)', 1],
    [
      'with more records than the total of one page',
      pageOf(['1', '2'], { sum: 1 }),
      { by: 'single', total: '/sum' },
      '/sum counts 1 record, and 2 were read',
      1,
    ],
    ['without a header Link at first', pageOf(['1']), { by: 'link' }, /has no header link, .*allowSingle/, 1],
    [
      'with a header Link that is malformed',
      pageOf(['1'], {}, { link: '?b; rel=next' }),
      { by: 'link' },
      'has a header link that cannot be understood',
      1,
    ],
    [
      'with two next pages',
      pageOf(['1'], {}, { link: '<?b>; rel=next, <?c>; rel=next' }),
      { by: 'link' },
      'names several next pages',
      1,
    ],
    ['without a next page at first', pageOf(['1']), byNext, /holds nothing at \/next, .*allowSingle/, 1],
    [
      'with a full first page that may be the only one',
      pageOf(['1', '2']),
      { ...byCursor, allowSingle: true, sizeParameter: 'limit', size: 2 },
      'holds 2 records, as many as limit asks for',
      1,
    ],
    [
      'with an uneven page',
      inTurn(pageOf(['1', '2'], { next: '?b' }), pageOf(['3'], { next: '?c' }), pageOf(['4', '5'], { next: null })),
      byNext,
      'page 2 of 3 holds 1 record and another one 2, so records may be missing: set total, or allowUneven',
      3,
    ],
    [
      'with an empty page by number',
      inTurn(pageOf(['1', '2']), pageOf([]), pageOf(['3'])),
      byPage,
      /the page before page 3 of .* is empty: records may be missing/,
      3,
    ],
    [
      'with status 204 for a page that was named',
      inTurn(pageOf(['1'], { next: '?b' }), nothing),
      byNext,
      'names a next page, but page 2 has no content (status 204)',
      2,
    ],
    [
      'that a server repeats for each position',
      pageOf(['1', '2']),
      byOffset,
      /page 2 of .* leads back to a page that was read already: check parameter; .* set more or total/,
      2,
    ],
    [
      'that a server repeats for each position, with a total of the page',
      pageOf(['1', '2'], { total: 2 }),
      { ...byOffset, sizeParameter: 'limit', size: 2, total },
      'page 2 repeats the first page: check parameter',
      2,
    ],
    ['without the key', pageOf(['1']), { ...byOffset, key: '/nr' }, 'no record holds a text or a number at /nr', 1],
  ])('%s', async (_case, answer, pages, expected, requested) => {
    const { failure, requests, remaining } = await failureOf(answer, { ...settings, pages })

    const message = typeof expected === 'string' ? expect.stringContaining(expected) : expect.stringMatching(expected)
    expect(failure).toMatchObject({ code: 'source_unreadable', message })
    expect(requests).toBe(requested)
    expect(remaining).toEqual([])
  })

  test('where the body has a text in place of an object', async () => {
    const pages = { ...byOffset, in: 'body', parameter: '/params/offset' } as const

    const { failure } = await failureOf(pageOf(['1']), { ...settings, method: 'POST', body: { params: 'all' }, pages })

    expect(failure).toMatchObject({
      message: 'body has no object where /params/offset is to be set: check parameter below pages',
    })
  })
})

describe('a list that changes while it is read', () => {
  const five = { by: 'offset', states: 'total', size: 2 } as const

  test('is read again, and the reason is stated', async () => {
    let requests = 0
    const lists = () => {
      requests += 1
      return requests === 1 ? people : people.slice(1)
    }

    const { ids, waits, paths } = await read(answerPages(five, lists), settingsOf(five))

    expect(ids).toEqual(people.slice(1))
    expect(waits).toEqual([
      expect.stringMatching(/reading the list again: page 2 of .* the first page stated 5 records, and now 4/),
    ])
    expect(paths).toHaveLength(2 + 3)
  })

  test.each<[string, PagedPeople, RegExp, number]>([
    ['by its total', five, /page 2 of .* the first page stated \d records, and now \d/, 4],
    [
      'by the order without a total',
      { ...five, states: 'nothing' },
      /two readings in a row found different records/,
      5,
    ],
  ])('each time is refused %s', async (_case, paged, expected, readings) => {
    let state = people
    let first = 0
    const answer = answerPages(paged, () => state)
    const { failure, remaining } = await failureOf((request, response) => {
      const isFirst = request.url?.includes('position=0&') ?? false
      answer(request, response)
      if (isFirst) {
        first += 1
        state = [...state, `q${first}`]
      }
    }, settingsOf(paged))

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(expected) })
    expect(failure).toMatchObject({ message: expect.stringContaining('the list was read again 3 times') })
    expect(first).toBe(readings)
    expect(remaining).toEqual([])
  })

  test.each<[string, boolean, readonly string[]]>([
    ['without a total', false, [expect.stringMatching(/two readings in a row found different records/)]],
    // The last page counts as many people as were read: it says nothing of the one who was missed. The second reading is counted.
    ['with a total that only fits the last page', true, []],
  ])('is read again by link if the addresses hold the number of a page: %s', async (_case, isCounted, expected) => {
    let state = people
    let requests = 0
    const { ids, end, waits, paths } = await read(
      (request, response) => {
        requests += 1
        const query = new URL(request.url ?? '', 'http://hr').searchParams
        const page = Number(query.get('page') ?? 1)
        // Another token each time: the addresses of two readings differ.
        const link = `<?per_page=2&page=${page + 1}&token=${requests}>; rel="next"`
        const headers = page * 2 < state.length ? { link } : { link: '<?page=1>; rel="first"' }
        const stated = isCounted ? { total: state.length } : {}
        pageOf(state.slice(page * 2 - 2, page * 2), stated, headers)(request, response)
        if (requests === 1) state = people.slice(1)
      },
      { url: '?per_page=2', pages: { by: 'link' } },
    )

    expect(ids).toEqual(people.slice(1))
    if (!isCounted) expect(end).toBe('page 2 is the last: the header link names no next page; two readings are equal')
    expect(waits).toEqual(expected)
    expect(paths).toHaveLength(isCounted ? 4 : 6)
  })

  test('is found by a key that occurs twice, although the records differ', async () => {
    const record = (id: string, team: string) => ({ id, team })
    const answers = [
      json({ records: [record('1', 'a'), record('2', 'a')], next: '?b' }),
      json({ records: [record('2', 'b')], next: null }),
      json({ records: [record('1', 'a'), record('2', 'b')], next: '?b' }),
      json({ records: [record('3', 'a')], next: null }),
      json({ records: [record('1', 'b'), record('2', 'b')], next: '?b' }),
      json({ records: [record('3', 'a')], next: null }),
    ]

    const { ids, waits } = await read(inTurn(...answers), { pages: { ...byNext, key: '/id' } })

    expect(ids).toEqual(['1', '2', '3'])
    expect(waits).toEqual([expect.stringMatching(/page 2 of .*: record 1 was read before/)])
  })
})

test('pages of different lengths pass where they are allowed, or counted', async () => {
  const pages = (meta: object) => {
    const answers = [
      pageOf(['1', '2'], { next: '?b', ...meta }),
      pageOf([], { next: '?c', ...meta }),
      pageOf(['3'], { next: '?d', ...meta }),
      pageOf(['4', '5'], { next: null, ...meta }),
    ]
    return inTurn(...answers, ...answers)
  }

  expect((await read(pages({}), { pages: { ...byNext, allowUneven: true } })).ids).toHaveLength(5)
  expect((await read(pages({ total: 5 }), { pages: { ...byNext, total } })).ids).toHaveLength(5)
  expect((await read(pages({ total: 5 }), { pages: byNext })).ids).toHaveLength(5)
})

describe('the as-of time of a list with several pages', () => {
  const asOf = { from: 'lastModified' } as const
  const early = '2026-11-18T02:00:00Z'
  const late = '2026-11-19T03:00:00Z'
  const modified = (at: string) => ({ 'last-modified': new Date(at).toUTCString() })

  test.each([
    [early, late],
    [late, early],
  ])('when the earliest page was modified: %s, %s', async (...[first, second]) => {
    const answers = [pageOf(['1'], { next: '?b' }, modified(first)), pageOf(['2'], { next: null }, modified(second))]
    const answer = inTurn(...answers, ...answers)

    const reading = await read(answer, { pages: byNext, asOf })

    expect(reading.asOf).toBe('2026-11-18T02:00:00.000Z')
  })

  test('never at a time that a page does not state', async () => {
    const answers = [pageOf(['1'], { next: '?b' }, modified(late)), pageOf(['2'], { next: null })]
    const answer = inTurn(...answers, ...answers)

    await expect(read(answer, { pages: byNext, asOf })).rejects.toThrow('holds no time at the header Last-Modified')
  })
})
